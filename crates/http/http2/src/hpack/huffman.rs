//! The static Huffman code: RFC 7541 §5.2 and appendix B.
//!
//! The code is canonical: the lengths of the codes define all codes. The symbols are ordered by the
//! length of their codes, then by value. Each code is the previous code plus one. If the new code
//! is longer, zeros are appended.

/// Number of symbols: all bytes, and the end-of-string symbol, which is used only as padding.
const SYMBOLS: usize = 257;
const EOS: usize = 256;
const BITS_MAX: usize = 30;

/// Length of each symbol's code, in bits.
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12,
    10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6,
    5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22,
    22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20,
    22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28,
    27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28,
    27, 27, 27, 27, 27, 26, 30,
];

/// Tables for encoding and decoding.
struct Code {
    codes: [u32; SYMBOLS],
    /// Symbols in the order of their codes.
    symbols: [u16; SYMBOLS],
    /// For each length of a code in bits, the first code and its index in `symbols`.
    firsts: [(u32, u16); BITS_MAX + 2],
    /// Short codes, indexed by the next eight bits. An entry contains the symbol whose code is at
    /// the start of these bits, and the length of this code in bits. The length is 0 if the code is
    /// longer than eight bits.
    short: [(u8, u8); 256],
}

const CODE: Code = code();

const fn code() -> Code {
    let mut tables = Code {
        codes: [0; SYMBOLS],
        symbols: [0; SYMBOLS],
        firsts: [(0, 0); BITS_MAX + 2],
        short: [(0, 0); 256],
    };
    let (mut next, mut count, mut bits) = (0_u32, 0, 1);
    while bits <= BITS_MAX {
        next <<= 1;
        tables.firsts[bits] = (next, count as u16);
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == bits {
                tables.codes[symbol] = next;
                tables.symbols[count] = symbol as u16;
                if bits <= 8 {
                    let begin = (next as usize) << (8 - bits);
                    let mut at = begin;
                    while at < begin + (1 << (8 - bits)) {
                        tables.short[at] = (symbol as u8, bits as u8);
                        at += 1;
                    }
                }
                next += 1;
                count += 1;
            }
            symbol += 1;
        }
        bits += 1;
    }
    tables.firsts[BITS_MAX + 1] = (next << 1, count as u16);
    tables
}

/// Appends the decoded string. Returns `None` if `bytes` are not a valid code.
pub(super) fn decode(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    static TABLE: Code = CODE;
    // The topmost `held` bits of `window` are the bits read and not decoded yet.
    let (mut window, mut held) = (0_u64, 0_usize);
    let mut bytes = bytes.iter();
    loop {
        while held <= 56 {
            let Some(&byte) = bytes.next() else { break };
            window |= u64::from(byte) << (56 - held);
            held += 8;
        }
        let (symbol, bits) = TABLE.short[(window >> 56) as usize];
        if bits != 0 && usize::from(bits) <= held {
            out.push(symbol);
            window <<= bits;
            held -= usize::from(bits);
            continue;
        }
        match long(&TABLE, window, held) {
            Some((symbol, bits)) => {
                // An explicit end-of-string symbol is an error.
                out.push(u8::try_from(symbol).ok()?);
                window <<= bits;
                held -= bits;
            }
            // The remaining bits must be padding: fewer than eight, all ones.
            None => {
                let padding = window >> (64 - held.max(1));
                let is_ones = padding == (1 << held) - 1;
                return (held == 0 || held < 8 && is_ones).then_some(());
            }
        }
    }
}

/// Decodes a symbol whose code is longer than eight bits. Returns the symbol and the length of its
/// code in bits, or `None` if too few bits are left.
fn long(code: &Code, window: u64, held: usize) -> Option<(u16, usize)> {
    for bits in 9..=BITS_MAX.min(held) {
        let (first, begin) = code.firsts[bits];
        let (_, end) = code.firsts[bits + 1];
        let at = ((window >> (64 - bits)) as u32).checked_sub(first);
        if let Some(at) = at
            && at < u32::from(end - begin)
        {
            return Some((code.symbols[usize::from(begin) + at as usize], bits));
        }
    }
    None
}

/// Returns the encoded length of `text`, in bytes.
pub(super) fn encoded_bytes(text: &[u8]) -> usize {
    let bits = text
        .iter()
        .map(|&byte| usize::from(LENGTHS[usize::from(byte)]));
    bits.sum::<usize>().div_ceil(8)
}

/// Appends the encoded `text`.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    static TABLE: Code = CODE;
    let (mut window, mut held) = (0_u64, 0);
    for &byte in text {
        let symbol = usize::from(byte);
        let bits = u32::from(LENGTHS[symbol]);
        window = window << bits | u64::from(TABLE.codes[symbol]);
        held += bits;
        while 8 <= held {
            held -= 8;
            out.push((window >> held) as u8);
        }
    }
    if held != 0 {
        // Padding is the start of the end-of-string code, which consists of ones.
        debug_assert_eq!(TABLE.codes[EOS], 0x3fff_ffff);
        out.push((window << (8 - held)) as u8 | 0xff >> held);
    }
}
