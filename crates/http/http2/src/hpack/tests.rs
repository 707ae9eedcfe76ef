use proptest::prelude::*;

use super::{Decoder, EncodedField, Encoder, HpackError, field, huffman, integer, status};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits
        .chunks(2)
        .map(|pair| str::from_utf8(pair).expect("ASCII"));
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal"))
        .collect()
}

fn read(decoder: &mut Decoder, block: &[u8]) -> Result<String, HpackError> {
    let mut rendered = String::new();
    decoder.read(block, |name, value| {
        let [name, value] = [name, value].map(String::from_utf8_lossy);
        rendered.push_str(&format!("{name}: {value}\n"));
    })?;
    Ok(rendered)
}

/// RFC 7541 §C.3: requests without Huffman coding, on one connection.
#[test]
fn the_examples_without_huffman_are_read() {
    let mut decoder = Decoder::default();
    let first = bytes("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d");
    let expected = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n";
    assert_eq!(read(&mut decoder, &first).as_deref(), Ok(expected));
    let second = bytes("8286 84be 5808 6e6f 2d63 6163 6865");
    let more = format!("{expected}cache-control: no-cache\n");
    assert_eq!(read(&mut decoder, &second), Ok(more));
    let third = bytes("8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65");
    let expected = ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\n\
                    custom-key: custom-value\n";
    assert_eq!(read(&mut decoder, &third).as_deref(), Ok(expected));
}

/// RFC 7541 §C.4: the same requests with Huffman coding.
#[test]
fn the_examples_with_huffman_are_read() {
    let mut decoder = Decoder::default();
    let first = bytes("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff");
    let expected = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n";
    assert_eq!(read(&mut decoder, &first).as_deref(), Ok(expected));
    let second = bytes("8286 84be 5886 a8eb 1064 9cbf");
    let more = format!("{expected}cache-control: no-cache\n");
    assert_eq!(read(&mut decoder, &second), Ok(more));
    let third = bytes("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf");
    let expected = ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\n\
                    custom-key: custom-value\n";
    assert_eq!(read(&mut decoder, &third).as_deref(), Ok(expected));
}

/// Each row is a description and an invalid block in hexadecimal: RFC 7541 §4, §5, §6. The
/// connection must be closed after each of these blocks.
#[test]
fn invalid_blocks_are_errors() {
    let rows: &[(&str, &str)] = &[
        ("index 0", "80"),
        ("an index that nobody knows", "be"),
        ("an index that nobody knows, as a name", "7e0161"),
        ("an index cut off", "ff"),
        ("an index of five bytes", "ffffffffff0f"),
        ("a name cut off", "000561"),
        ("no value", "000161"),
        ("a table larger than allowed", "3fe21f"),
        ("a change of size behind a field", "8220"),
        ("padding of a whole byte", "00016182f8ff"),
        ("padding with zeros", "000161811a"),
        ("the end of a string spelled out", "00016184ffffffff"),
    ];
    for (what, block) in rows {
        let outcome = read(&mut Decoder::default(), &bytes(block));
        assert_eq!(outcome, Err(HpackError), "{what}");
    }
}

#[test]
fn sizes_may_change_before_a_block() {
    let mut decoder = Decoder::default();
    let kept = bytes("4001610162");
    assert_eq!(read(&mut decoder, &kept).as_deref(), Ok("a: b\n"));
    // Index 62 is the newest entry. After a change of the size to 0 and back to 4096 the table is
    // empty.
    assert_eq!(read(&mut decoder, &bytes("be")).as_deref(), Ok("a: b\n"));
    assert_eq!(read(&mut decoder, &bytes("203fe11f")).as_deref(), Ok(""));
    assert_eq!(read(&mut decoder, &bytes("be")), Err(HpackError));
}

/// Eviction by size: RFC 7541 §4.1 counts 32 bytes in addition to name and value.
#[test]
fn the_oldest_entry_is_evicted() {
    let mut decoder = Decoder::default();
    // Each block adds the field `a: b`, an entry of 34 bytes: 120 entries fit into 4096 bytes.
    for _ in 0..120 {
        assert!(read(&mut decoder, &bytes("4001610162")).is_ok());
    }
    let oldest = |number: usize| {
        let mut block = Vec::new();
        integer::write(&mut block, 0x80, 7, number);
        block
    };
    assert!(read(&mut decoder, &oldest(61 + 120)).is_ok());
    assert_eq!(read(&mut decoder, &oldest(61 + 121)), Err(HpackError));
    // An entry larger than the table leaves it empty.
    let mut large = bytes("40016100");
    large.truncate(3);
    integer::write(&mut large, 0, 7, 5_000);
    large.extend_from_slice(&[b'x'; 5_000]);
    assert!(read(&mut decoder, &large).is_ok());
    assert_eq!(read(&mut decoder, &bytes("be")), Err(HpackError));
}

#[test]
fn indexed_fields_take_one_byte() {
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    let lines = [
        EncodedField::shared(b"cache-control", b"public, max-age=600"),
        EncodedField::shared(b"x-content-type-options", b"nosniff"),
        EncodedField::single(b"etag", b"\"0123\""),
    ];
    let mut block_bytes = Vec::new();
    for _ in 0..2 {
        let mut block = Vec::new();
        encoder.begin(&mut block);
        status(&mut block, 200);
        for line in &lines {
            encoder.line(&mut block, line);
        }
        let expected = ":status: 200\ncache-control: public, max-age=600\nx-content-type-options: nosniff\n\
                        etag: \"0123\"\n";
        assert_eq!(read(&mut decoder, &block).as_deref(), Ok(expected));
        block_bytes.push(block.len());
    }
    // The second block has one byte for each of the three fields that are in a table (the status
    // and the two shared ones), and the whole encoding of the etag, which is in no table.
    assert_eq!(
        block_bytes[1],
        1 + 2 + 1 + lines[2].bytes() - 1,
        "{block_bytes:?}"
    );
    let mut odd = Vec::new();
    status(&mut odd, 416);
    field(&mut odd, b"content-range", b"bytes */5");
    let expected = ":status: 416\ncontent-range: bytes */5\n";
    assert_eq!(read(&mut decoder, &odd).as_deref(), Ok(expected));
}

/// Maximum number of fields of one connection.
const STEPS_MAX: usize = if cfg!(miri) { 20 } else { 200 };

proptest! {
    #[test]
    fn integers_round_trip(value in 0_usize..1 << 28, prefix_bits in 1_u32..9) {
        let mut written = Vec::new();
        integer::write(&mut written, 0, prefix_bits, value);
        let mut rest = &written[..];
        prop_assert_eq!(integer::read(&mut rest, prefix_bits), Some(value));
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn strings_round_trip(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut coded = Vec::new();
        huffman::encode(&text, &mut coded);
        prop_assert_eq!(coded.len(), huffman::encoded_bytes(&text));
        let mut decoded = Vec::new();
        prop_assert_eq!(huffman::decode(&coded, &mut decoded), Some(()));
        prop_assert_eq!(decoded, text);
    }

    /// A decoder reads every field correctly, whatever table sizes the client requests in between.
    #[test]
    fn encoder_and_decoder_tables_agree(
        steps in proptest::collection::vec((0_usize..12, proptest::option::of(0_usize..6_000)), 1..STEPS_MAX),
    ) {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for (number, resized) in steps {
            if let Some(bytes_max) = resized {
                encoder.resize(bytes_max);
            }
            let value = "v".repeat(number * 90);
            let name = format!("x-{number}");
            let line = EncodedField::shared(name.as_bytes(), value.as_bytes());
            let mut block = Vec::new();
            encoder.begin(&mut block);
            encoder.line(&mut block, &line);
            let expected = format!("{name}: {value}\n");
            prop_assert_eq!(read(&mut decoder, &block), Ok(expected));
        }
    }

    #[test]
    fn no_block_panics(block in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut decoder = Decoder::default();
        let first = read(&mut decoder, &block);
        prop_assert_eq!(first, read(&mut Decoder::default(), &block));
    }
}
