/// A rotated file that is still there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    pub name: String,
    /// Day of rotation, counted from 1970-01-01.
    pub day: u32,
    pub bytes: u64,
}

impl Archive {
    /// Full days since rotation.
    pub fn age(&self, today: u32) -> u32 {
        today.saturating_sub(self.day)
    }
}

/// Bytes in all archives.
pub fn total_bytes(archives: &[Archive]) -> u64 {
    archives.iter().map(|a| a.bytes).sum()
}
