//! DUMP and RESTORE.

use bytes::Bytes;
use resp::Out;

use crate::context::Context;
use crate::db::{NEVER, is_due};
use crate::evict::Use;
use crate::fault::Fault;
use crate::notify::Class;
use crate::rdb::{
    Cursor, PAYLOAD_VERSION, VALKEY_VERSIONS, VERSION_MAX, Writer, crc64, read_value, reading,
    value_kind, write_value,
};
use crate::value::Value;

type Done = Result<(), Fault>;

/// Length of the version and checksum at the end of a payload, in bytes.
const TAIL_BYTES: usize = 10;

pub(crate) fn dump(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let args = cx.args;
    match cx.read(&args[1]) {
        Some(value) => out.blob(&payload(value)),
        None => out.null(),
    }
    Ok(())
}

fn payload(value: &Value) -> Bytes {
    let mut payload = vec![value_kind(value, PAYLOAD_VERSION)];
    let mut writer = Writer::new(&mut payload, true);
    write_value(value, &mut writer);
    seal(payload)
}

/// Appends the version and the checksum, which end a payload.
pub(crate) fn seal(mut payload: Vec<u8>) -> Bytes {
    payload.extend_from_slice(&PAYLOAD_VERSION.to_le_bytes());
    let crc = crc64(0, &payload);
    payload.extend_from_slice(&crc.to_le_bytes());
    payload.into()
}

/// Returns the payload without its version and checksum. Returns `None` if one of the two is
/// invalid.
pub(crate) fn body(payload: &[u8]) -> Option<&[u8]> {
    let (body, tail) = payload.split_at_checked(payload.len().checked_sub(TAIL_BYTES)?)?;
    let version = u16::from_le_bytes(tail[..2].try_into().expect("two bytes"));
    let crc = u64::from_le_bytes(tail[2..].try_into().expect("eight bytes"));
    let is_sound = crc == crc64(0, &payload[..payload.len() - 8]);
    let is_known = version <= VERSION_MAX || VALKEY_VERSIONS.contains(&version);
    (is_known && is_sound).then_some(body)
}

#[derive(Default)]
struct Options {
    replace: bool,
    is_absolute: bool,
    used: Use,
}

fn parse(cx: &Context<'_>) -> Result<Options, Fault> {
    let mut options = Options::default();
    let mut at = 4;
    while at < cx.args.len() {
        let has_value = at + 1 < cx.args.len();
        if cx.is(at, "replace") {
            options.replace = true;
        } else if cx.is(at, "absttl") {
            options.is_absolute = true;
        } else if cx.is(at, "idletime") && has_value && !matches!(options.used, Use::Frequency(_)) {
            at += 1;
            let idle_s = u32::try_from(cx.int(at)?);
            options.used = idle_s
                .map(Use::Idle)
                .map_err(|_| Fault::of("ERR Invalid IDLETIME value, must be >= 0"))?;
        } else if cx.is(at, "freq") && has_value && !matches!(options.used, Use::Idle(_)) {
            at += 1;
            let frequency = u8::try_from(cx.int(at)?);
            options.used = frequency
                .map(Use::Frequency)
                .map_err(|_| Fault::of("ERR Invalid FREQ value, must be >= 0 and <= 255"))?;
        } else {
            return Err(Fault::SYNTAX);
        }
        at += 1;
    }
    Ok(options)
}

pub(crate) fn restore(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let options = parse(cx)?;
    let args = cx.args;
    let key = &args[1];
    if !options.replace && cx.exists(key) {
        return Err(Fault::of("BUSYKEY Target key name already exists."));
    }
    let ttl = cx.int(2)?;
    if ttl < 0 {
        return Err(Fault::of("ERR Invalid TTL value, must be >= 0"));
    }
    let body = body(&args[3]);
    let body = body.ok_or(Fault::of("ERR DUMP payload version or checksum are wrong"))?;
    let value = restored(cx, body).ok_or(Fault::of("ERR Bad data format"))?;
    let was_there = options.replace && cx.clear(key);
    let deadline_ms = match ttl {
        0 => NEVER,
        ttl if options.is_absolute => ttl,
        ttl => ttl.saturating_add(cx.now),
    };
    if is_due(deadline_ms, cx.now) && !cx.session.replay {
        if was_there {
            cx.changed(key, Class::Generic, "del");
            cx.rewrite([Bytes::from_static(b"DEL"), key.clone()]);
        }
        out.ok();
        return Ok(());
    }
    let slot = cx.insert(key, value, deadline_ms);
    cx.ks.set_use(cx.db, slot, options.used, cx.now);
    cx.changed(key, Class::Generic, "restore");
    if deadline_ms != NEVER {
        let at = Bytes::from(deadline_ms.to_string());
        let words = [b"REPLACE".as_slice(), b"ABSTTL"].map(Bytes::from_static);
        let [replace, absolute] = words;
        let restore = Bytes::from_static(b"RESTORE");
        cx.rewrite([restore, key.clone(), at, args[3].clone(), replace, absolute]);
    }
    out.ok();
    Ok(())
}

/// Decodes the value of a payload from which the version and the checksum were removed. Returns
/// `None` if the payload is not exactly one value.
fn restored(cx: &Context<'_>, body: &[u8]) -> Option<Value> {
    let (kind, body) = body.split_first()?;
    let mut cursor = Cursor::new(body);
    let value = read_value(*kind, &mut cursor, reading(cx.ks)).ok()?;
    let value = value.filter(|_| cursor.at == body.len())?;
    Some(match value {
        Value::Str(string) => Value::Str(string.with_frozen_blob(cx.ks.blob_freezer())),
        other => other,
    })
}
