//! Initial stack of a program: arguments, environment, and the auxiliary vector.
//!
//! ```text
//! stack pointer ─► count of arguments, their addresses, 0, addresses of the environment, 0,
//!                  pairs of key and value, 0 0
//!                  strings and random bytes
//! top
//! ```

use crate::elf::Image;
use std::arch::x86_64::__cpuid_count;

/// User ID and group ID that are reported to a program.
pub(crate) const NOBODY: u64 = 65_534;

/// Arguments and environment with which a program starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartArguments {
    /// Arguments; the first is the program's name.
    pub arguments: Vec<Vec<u8>>,
    /// Environment variables as `NAME=value`.
    pub environment: Vec<Vec<u8>>,
}

/// Builds the bytes of the stack, which end at `top`. The stack pointer is the address of the first
/// byte.
pub(super) fn build(
    words: &StartArguments,
    image: &Image,
    bias: u64,
    top: u64,
    random: [u8; 16],
) -> Vec<u8> {
    let mut strings = Vec::new();
    let mut offsets = Vec::new();
    for word in words.arguments.iter().chain(&words.environment) {
        offsets.push(strings.len() as u64);
        strings.extend_from_slice(word);
        strings.push(0);
    }
    let random_at = strings.len() as u64;
    strings.extend_from_slice(&random);
    let pairs = 14;
    let count = 1 + offsets.len() + 2 + 2 * pairs;
    // The strings follow the 8-byte words directly, and the padding is at the top, so that the
    // stack pointer is a multiple of 16.
    let bytes = (8 * count + strings.len()).next_multiple_of(16);
    strings.resize(bytes - 8 * count, 0);
    let strings_at = top - strings.len() as u64;
    let mut stack = vec![words.arguments.len() as u64];
    let (arguments, environment) = offsets.split_at(words.arguments.len());
    stack.extend(arguments.iter().map(|offset| strings_at + offset));
    stack.push(0);
    stack.extend(environment.iter().map(|offset| strings_at + offset));
    stack.push(0);
    let auxiliary = auxiliary(image, bias, strings_at + random_at);
    assert_eq!(auxiliary.len(), pairs, "the pairs were counted above");
    stack.extend(auxiliary.iter().flat_map(|(key, value)| [*key, *value]));
    assert_eq!(stack.len(), count, "the words were counted above");
    let mut built: Vec<u8> = stack.iter().flat_map(|word| word.to_le_bytes()).collect();
    built.extend(strings);
    built
}

/// Builds the auxiliary vector. Source: getauxval(3).
fn auxiliary(image: &Image, bias: u64, random_at: u64) -> [(u64, u64); 14] {
    const HEADER_BYTES: u64 = 56;
    // Size of a signal's stack frame without the extended CPU state. The size is only reported: no
    // signal is ever delivered.
    const FRAME_BYTES: u64 = 1_024;
    let (headers, headers_count) = image.headers;
    let state = __cpuid_count(0xd, 0);
    [
        (libc::AT_PHDR, if headers == 0 { 0 } else { headers + bias }),
        (libc::AT_PHENT, HEADER_BYTES),
        (libc::AT_PHNUM, u64::from(headers_count)),
        (libc::AT_PAGESZ, super::layout::PAGE_BYTES),
        (libc::AT_ENTRY, image.entry + bias),
        (libc::AT_UID, NOBODY),
        (libc::AT_EUID, NOBODY),
        (libc::AT_GID, NOBODY),
        (libc::AT_EGID, NOBODY),
        (libc::AT_SECURE, 0),
        (libc::AT_CLKTCK, 100),
        (libc::AT_RANDOM, random_at),
        (libc::AT_MINSIGSTKSZ, FRAME_BYTES + u64::from(state.ecx)),
        (libc::AT_NULL, 0),
    ]
}

#[cfg(test)]
mod tests;
