//! The two messages and their bytes.

/// Version of both messages; server and worker come from one build, so it must be equal.
const VERSION: u32 = 1;
const JOB_MAGIC: u32 = u32::from_le_bytes(*b"PJOB");
const REPLY_MAGIC: u32 = u32::from_le_bytes(*b"PRPL");

/// Bytes of a job before its plan.
pub const JOB_HEADER_BYTES: usize = 64;
/// Bytes of a reply before its detail.
pub const REPLY_HEADER_BYTES: usize = 64;
/// Longest plan; a picture's plan takes less than a hundred.
pub const PLAN_BYTES_MAX: usize = 512;
/// Longest text a worker may add for the log.
pub const DETAIL_BYTES_MAX: usize = 256;
/// A buffer of this size holds any message.
pub const MESSAGE_BYTES_MAX: usize = JOB_HEADER_BYTES + PLAN_BYTES_MAX;

/// What one job may use; the cell ends a job that takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobLimits {
    /// Size of the answer's memfd, fixed by seals.
    pub answer_bytes_max: u64,
    /// Address space the job may take beyond what the worker had before it.
    pub memory_bytes_max: u64,
    /// CPU time.
    pub cpu_ms_max: u32,
}

/// One job, as the server sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job<'a> {
    /// Chosen by the server; the reply must repeat it.
    pub id: u64,
    /// Bounds of the job.
    pub limits: JobLimits,
    /// Fresh entropy, since a forked cell has none of its own.
    pub seed: [u8; 16],
    /// Runs only when a core has nothing else to do.
    pub idle: bool,
    /// What to do, in a form that only the worker and the job's author know.
    pub plan: &'a [u8],
}

impl<'a> Job<'a> {
    /// The job's bytes.
    ///
    /// # Panics
    /// When the plan is longer than [`PLAN_BYTES_MAX`]: a bug of the caller.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        assert!(
            self.plan.len() <= PLAN_BYTES_MAX,
            "plan of {} bytes",
            self.plan.len()
        );
        let mut out = Vec::with_capacity(JOB_HEADER_BYTES + self.plan.len());
        out.extend_from_slice(&JOB_MAGIC.to_le_bytes());
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.limits.answer_bytes_max.to_le_bytes());
        out.extend_from_slice(&self.limits.memory_bytes_max.to_le_bytes());
        out.extend_from_slice(&self.limits.cpu_ms_max.to_le_bytes());
        out.extend_from_slice(&(self.plan.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.seed);
        out.extend_from_slice(&u32::from(self.idle).to_le_bytes());
        out.resize(JOB_HEADER_BYTES, 0);
        out.extend_from_slice(self.plan);
        out
    }

    /// Reads a job that arrived in one packet.
    ///
    /// # Errors
    /// [`Malformed`] when the bytes are not exactly one job of this version.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Job<'a>, Malformed> {
        let (header, plan) = bytes
            .split_at_checked(JOB_HEADER_BYTES)
            .ok_or(Malformed::Length)?;
        let mut fields = Fields(header);
        if fields.u32() != JOB_MAGIC {
            return Err(Malformed::Magic);
        }
        if fields.u32() != VERSION {
            return Err(Malformed::Version);
        }
        let id = fields.u64();
        let answer_bytes_max = fields.u64();
        let memory_bytes_max = fields.u64();
        let cpu_ms_max = fields.u32();
        let plan_bytes = fields.u32() as usize;
        let seed = fields.array();
        let idle = fields.u32() != 0;
        if plan_bytes != plan.len() || PLAN_BYTES_MAX < plan_bytes {
            return Err(Malformed::Length);
        }
        Ok(Job {
            id,
            limits: JobLimits {
                answer_bytes_max,
                memory_bytes_max,
                cpu_ms_max,
            },
            seed,
            idle,
            plan,
        })
    }
}

/// How a job ended, in the worker's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// The answer is in the memfd.
    Done = 0,
    /// The original cannot be decoded.
    Undecodable = 1,
    /// The original is sound, but uses what the worker does not handle.
    Unsupported = 2,
    /// The job needed more than its limits allow.
    TooLarge = 3,
    /// The worker failed for a reason of its own.
    Failed = 4,
    /// The job ran out of its CPU time.
    TimedOut = 5,
    /// The encoder failed on this picture with these settings; the worker itself is sound.
    Unencodable = 6,
}

impl Status {
    const ALL: [Status; 7] = [
        Status::Done,
        Status::Undecodable,
        Status::Unsupported,
        Status::TooLarge,
        Status::Failed,
        Status::TimedOut,
        Status::Unencodable,
    ];
}

/// What the server knows an honest reply to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// Id of the job that was sent.
    pub id: u64,
    /// Width and height of the answer, when it is a picture.
    pub size_px: Option<(u32, u32)>,
    /// Size of the memfd that was handed over.
    pub answer_bytes_max: u64,
    /// A program may have nothing to say; no picture is empty.
    pub may_be_empty: bool,
}

/// A reply as a worker sends it. Its fields stay private until they were checked against the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllegedReply {
    id: u64,
    status: u32,
    width_px: u32,
    height_px: u32,
    answer_bytes: u64,
    memory_peak_bytes: u64,
    cpu_us: u64,
    detail: Vec<u8>,
}

/// A reply that fits its job. What the answer's bytes hold is still the worker's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// How the job ended.
    pub status: Status,
    /// Bytes of the answer in the memfd; zero unless [`Status::Done`], and then only where [`Expect::may_be_empty`].
    pub answer_bytes: u64,
    /// The worker's peak resident memory.
    pub memory_peak_bytes: u64,
    /// CPU time the job took.
    pub cpu_us: u64,
    /// For the log: printable ASCII, bounded.
    pub detail: String,
}

/// A reply that no honest worker gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Names another job.
    WrongJob,
    /// Says a status that does not exist.
    UnknownStatus,
    /// States another size than the plan.
    WrongSize,
    /// States more bytes than its memfd holds, or none for an answer.
    WrongLength,
}

/// Bytes that are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Too short, too long, or not as long as it says.
    Length,
    /// Does not begin with the message's magic number.
    Magic,
    /// From another build.
    Version,
}

impl AllegedReply {
    /// What a worker has to say about job `id`; `size_px` is that of the answer, or zeros.
    #[must_use]
    pub fn new(id: u64, status: Status, size_px: (u32, u32), answer_bytes: u64) -> AllegedReply {
        AllegedReply {
            id,
            status: status as u32,
            width_px: size_px.0,
            height_px: size_px.1,
            answer_bytes,
            memory_peak_bytes: 0,
            cpu_us: 0,
            detail: Vec::new(),
        }
    }

    /// Adds the reason of a failure; cut at [`DETAIL_BYTES_MAX`].
    #[must_use]
    pub fn with_detail(mut self, detail: &str) -> AllegedReply {
        self.detail = detail.bytes().take(DETAIL_BYTES_MAX).collect();
        self
    }

    /// Adds what the job used.
    #[must_use]
    pub fn with_usage(mut self, memory_peak_bytes: u64, cpu_us: u64) -> AllegedReply {
        self.memory_peak_bytes = memory_peak_bytes;
        self.cpu_us = cpu_us;
        self
    }

    /// The reply's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(REPLY_HEADER_BYTES + self.detail.len());
        out.extend_from_slice(&REPLY_MAGIC.to_le_bytes());
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&self.width_px.to_le_bytes());
        out.extend_from_slice(&self.height_px.to_le_bytes());
        out.extend_from_slice(&(self.detail.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.answer_bytes.to_le_bytes());
        out.extend_from_slice(&self.memory_peak_bytes.to_le_bytes());
        out.extend_from_slice(&self.cpu_us.to_le_bytes());
        out.resize(REPLY_HEADER_BYTES, 0);
        out.extend_from_slice(&self.detail);
        out
    }

    /// Reads a reply that arrived in one packet; nothing in it is believed yet.
    ///
    /// # Errors
    /// [`Malformed`] when the bytes are not exactly one reply of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<AllegedReply, Malformed> {
        let (header, detail) = bytes
            .split_at_checked(REPLY_HEADER_BYTES)
            .ok_or(Malformed::Length)?;
        let mut fields = Fields(header);
        if fields.u32() != REPLY_MAGIC {
            return Err(Malformed::Magic);
        }
        if fields.u32() != VERSION {
            return Err(Malformed::Version);
        }
        let id = fields.u64();
        let status = fields.u32();
        let width_px = fields.u32();
        let height_px = fields.u32();
        let detail_bytes = fields.u32() as usize;
        let answer_bytes = fields.u64();
        let memory_peak_bytes = fields.u64();
        let cpu_us = fields.u64();
        if detail_bytes != detail.len() || DETAIL_BYTES_MAX < detail_bytes {
            return Err(Malformed::Length);
        }
        let detail = detail.to_vec();
        Ok(AllegedReply {
            id,
            status,
            width_px,
            height_px,
            answer_bytes,
            memory_peak_bytes,
            cpu_us,
            detail,
        })
    }

    /// Checks the reply against the job it answers.
    ///
    /// # Errors
    /// The first [`Lie`] found; the worker's fault.
    pub fn verify(self, expect: &Expect) -> Result<Reply, Lie> {
        if self.id != expect.id {
            return Err(Lie::WrongJob);
        }
        let Some(&status) = Status::ALL
            .iter()
            .find(|status| **status as u32 == self.status)
        else {
            return Err(Lie::UnknownStatus);
        };
        if status == Status::Done {
            if expect
                .size_px
                .is_some_and(|size| size != (self.width_px, self.height_px))
            {
                return Err(Lie::WrongSize);
            }
            let empty = self.answer_bytes == 0 && !expect.may_be_empty;
            if empty || expect.answer_bytes_max < self.answer_bytes {
                return Err(Lie::WrongLength);
            }
        } else if self.answer_bytes != 0 {
            return Err(Lie::WrongLength);
        }
        let detail = self.detail.iter().map(|&byte| printable(byte)).collect();
        Ok(Reply {
            status,
            answer_bytes: self.answer_bytes,
            memory_peak_bytes: self.memory_peak_bytes,
            cpu_us: self.cpu_us,
            detail,
        })
    }
}

/// A worker's text reaches the operator's terminal, so control characters do not pass.
fn printable(byte: u8) -> char {
    if byte == b' ' || byte.is_ascii_graphic() {
        char::from(byte)
    } else {
        '?'
    }
}

/// Little-endian fields of a header whose length was checked.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self
            .0
            .split_first_chunk()
            .expect("headers are longer than their fields");
        self.0 = rest;
        *field
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }
}
