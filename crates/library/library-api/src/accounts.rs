//! Endpoints for user accounts.

use std::collections::BTreeSet;

use crate::call::{Call, Changes, Seen};
use crate::fault::{Code, Fault};
use crate::response::Response;
use crate::store::{Change, Role, User, avatar_name, check_name};
use crate::write::Writer;

/// Roles that an admin may deny to a user, each with the request parameter that sets the role.
const ROLES: [(&str, Role); 5] = [
    ("settingsRole", Role::Settings),
    ("downloadRole", Role::Download),
    ("playlistRole", Role::Playlist),
    ("streamRole", Role::Stream),
    ("shareRole", Role::Share),
];

/// Returns the user named `name`. Returns an error if the user does not exist. Only an admin may
/// request another user; all other clients get an error if `name` is not their own user.
fn own_or_any<'s>(
    call: &Call<'_>,
    seen: &Seen<'s>,
    name: &str,
) -> Result<(&'s str, &'s User), Fault> {
    let known = seen.state.user_named(name);
    if known.is_none_or(|(name, _)| name != call.user) {
        seen.admin()?;
    }
    known.ok_or_else(|| Fault::not_found("user"))
}

/// Returns the denied roles after the request: for each role, `true` in its parameter removes the
/// role from `denied`, and `false` adds it.
fn denied_roles(call: &Call<'_>, denied: &BTreeSet<Role>) -> Result<BTreeSet<Role>, Fault> {
    let mut denied = denied.clone();
    for (parameter, role) in ROLES {
        match call.flag(parameter)? {
            Some(true) => drop(denied.remove(&role)),
            Some(false) => drop(denied.insert(role)),
            None => {}
        }
    }
    Ok(denied)
}

fn describe(out: &mut Writer, name: &str, user: &User) {
    out.text("username", name);
    out.flag("scrobblingEnabled", true);
    out.number_if(
        "maxBitRate",
        Some(user.max_bit_rate_kbps).filter(|kbps| *kbps != 0),
    );
    for (role, has) in [
        ("adminRole", user.admin),
        ("settingsRole", user.may(Role::Settings)),
        ("downloadRole", user.may(Role::Download)),
        ("uploadRole", false),
        ("playlistRole", user.may(Role::Playlist)),
        ("coverArtRole", false),
        ("commentRole", false),
        ("podcastRole", false),
        ("streamRole", user.may(Role::Stream)),
        ("jukeboxRole", false),
        ("shareRole", user.may(Role::Share)),
        ("videoConversionRole", false),
    ] {
        out.flag(role, has);
    }
    if out.is_xml() {
        out.list("folder", [1], |out, _| out.value("1"));
    } else {
        out.numbers("folder", [1]);
    }
}

pub(crate) fn user(call: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    let (name, user) = own_or_any(call, seen, call.text("username")?)?;
    out.object("user", |out| describe(out, name, user));
    Ok(())
}

/// Longest side of an avatar, in pixels. Players do not send a size, and show avatars small, beside
/// a name.
const AVATAR_PX: u32 = 320;

/// Returns the avatar that the operator set for the user in the parameter `username`. Every
/// logged-in user may see every avatar.
pub(crate) fn avatar(call: &Call<'_>, seen: &Seen<'_>) -> Result<Response, Fault> {
    let known = seen.state.user_named(call.text("username")?);
    let (name, user) = known.ok_or_else(|| Fault::not_found("user"))?;
    let target = call.context.library.avatar(&avatar_name(name, user));
    let target = target.ok_or_else(|| Fault::not_found("avatar"))?;
    Ok(Response::File {
        target: format!("{target}?w={AVATAR_PX}&h={AVATAR_PX}&fit=inside"),
        disposition: None,
    })
}

pub(crate) fn users(_: &Call<'_>, seen: &Seen<'_>, out: &mut Writer) -> Result<(), Fault> {
    seen.admin()?;
    out.object("users", |out| {
        out.list("user", &seen.state.users, |out, (name, user)| {
            describe(out, name, user);
        });
    });
    Ok(())
}

pub(crate) fn create(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    seen.admin()?;
    let (name, password) = (call.text("username")?, call.text("password")?);
    if seen.state.has_alike(name) {
        return Err(Fault::new(
            Code::Generic,
            "a user with this name already exists",
        ));
    }
    if call.context.limits.kept_max <= seen.state.users.len() {
        return Err(Fault::not_allowed());
    }
    check_name(name).map_err(|_| Fault::bad("username"))?;
    let admin = call.flag("adminRole")?.unwrap_or(false);
    let mut changes = vec![kept(call, name, &decoded_password(password), admin)?];
    changes.extend(denied(call, name, &BTreeSet::new())?);
    changes.extend(call.number("maxBitRate")?.map(|kbps| Change::MaxBitRate {
        user: name.to_owned(),
        kbps,
    }));
    Ok(changes)
}

pub(crate) fn update(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    seen.admin()?;
    let (name, user) = own_or_any(call, seen, call.text("username")?)?;
    let admin = call.flag("adminRole")?.unwrap_or(user.admin);
    // Admins may not give up their own admin role: the last admin could not get it back.
    if name == call.user && !admin {
        return Err(Fault::not_allowed());
    }
    let mut changes = vec![match call.params.first("password") {
        Some(password) => kept(call, name, &decoded_password(password), admin)?,
        None => Change::User {
            name: name.to_owned(),
            password: user.password.clone(),
            admin,
            at_ms: call.now_ms,
        },
    }];
    changes.extend(denied(call, name, &user.denied)?);
    changes.extend(call.number("maxBitRate")?.map(|kbps| Change::MaxBitRate {
        user: name.to_owned(),
        kbps,
    }));
    Ok(changes)
}

/// Returns the change of a user's denied roles, if the parameters change them.
fn denied(call: &Call<'_>, name: &str, now: &BTreeSet<Role>) -> Result<Option<Change>, Fault> {
    let roles = denied_roles(call, now)?;
    Ok((roles != *now).then(|| Change::Denied {
        user: name.to_owned(),
        roles,
    }))
}

pub(crate) fn change_password(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    let (name, user) = own_or_any(call, seen, call.text("username")?)?;
    seen.may(Role::Settings)?;
    let password = decoded_password(call.text("password")?);
    Ok(vec![kept(call, name, &password, user.admin)?])
}

pub(crate) fn delete(call: &Call<'_>, seen: &Seen<'_>) -> Changes {
    seen.admin()?;
    let (name, _) = own_or_any(call, seen, call.text("username")?)?;
    if name == call.user {
        return Err(Fault::not_allowed());
    }
    Ok(vec![Change::UserGone {
        name: name.to_owned(),
    }])
}

/// Decodes a password parameter: hexadecimal digits after `enc:`, or the password as text.
fn decoded_password(given: &str) -> String {
    let digits = given
        .strip_prefix("enc:")
        .and_then(|text| hex::decode(text).ok());
    let decoded = digits.and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.unwrap_or_else(|| given.to_owned())
}

fn kept(call: &Call<'_>, name: &str, password: &str, admin: bool) -> Result<Change, Fault> {
    Ok(Change::User {
        name: name.to_owned(),
        password: call.context.store.seal(name, password)?,
        admin,
        at_ms: call.now_ms,
    })
}
