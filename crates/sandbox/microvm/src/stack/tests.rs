use super::{StartArguments, build};
use crate::elf::Image;

#[test]
fn a_program_finds_its_words() {
    const TOP: u64 = 0x10_0000;
    let words = StartArguments {
        arguments: vec![b"name".to_vec(), b"--flag".to_vec()],
        environment: vec![b"A=b".to_vec()],
    };
    let image = Image {
        entry: 0x100,
        relocatable: true,
        segments: Vec::new(),
        headers: (0x40, 9),
    };
    let bytes = build(&words, &image, 0x40_0000, TOP, [7; 16]);
    let begin = TOP - bytes.len() as u64;
    assert_eq!(begin % 16, 0, "the ABI's alignment");
    let word = |index: usize| {
        let word = bytes[8 * index..].first_chunk().expect("within the stack");
        u64::from_le_bytes(*word)
    };
    let string = |address: u64| {
        let rest = &bytes[(address - begin) as usize..];
        let end = rest.iter().position(|byte| *byte == 0).expect("it ends");
        String::from_utf8_lossy(&rest[..end]).into_owned()
    };
    assert_eq!(word(0), 2);
    assert_eq!(
        (string(word(1)), string(word(2))),
        ("name".to_owned(), "--flag".to_owned())
    );
    assert_eq!(
        (word(3), string(word(4)), word(5)),
        (0, "A=b".to_owned(), 0)
    );
    let mut pairs = (6..).step_by(2).map(|index| (word(index), word(index + 1)));
    let mut value = |key| pairs.find(|pair| pair.0 == key).expect("in this order").1;
    assert_eq!(value(libc::AT_PHDR), 0x40_0040);
    assert_eq!(value(libc::AT_PHNUM), 9);
    assert_eq!(value(libc::AT_PAGESZ), 4_096);
    assert_eq!(value(libc::AT_ENTRY), 0x40_0100);
    let random = (value(libc::AT_RANDOM) - begin) as usize;
    assert_eq!(bytes[random..random + 16], [7; 16]);
    value(libc::AT_NULL);
}
