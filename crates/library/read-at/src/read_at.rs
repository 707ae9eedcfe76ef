use std::io;

/// Source of bytes at any offset: a file, memory, or an object behind HTTP.
pub trait ReadAt {
    /// Reads bytes from `offset` on into the beginning of `buf`. Returns the number of bytes read,
    /// which is 0 at the end of the source.
    ///
    /// # Errors
    /// The source's I/O error.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;
}

impl ReadAt for [u8] {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).map_or(self.len(), |start| start.min(self.len()));
        let count = buf.len().min(self.len() - start);
        buf[..count].copy_from_slice(&self[start..start + count]);
        Ok(count)
    }
}

impl<S: ReadAt + ?Sized> ReadAt for &S {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, buf)
    }
}

#[cfg(test)]
mod tests {
    use super::ReadAt;

    #[test]
    fn memory_is_read_up_to_its_end() {
        let source = b"0123456789".as_slice();
        let mut buf = [b'-'; 4];
        assert_eq!(source.read_at(2, &mut buf).expect("memory"), 4);
        assert_eq!(&buf, b"2345");
        assert_eq!(source.read_at(8, &mut buf).expect("memory"), 2);
        assert_eq!(&buf, b"8945");
        assert_eq!(source.read_at(10, &mut buf).expect("memory"), 0);
        assert_eq!(source.read_at(u64::MAX, &mut buf).expect("memory"), 0);
    }
}
