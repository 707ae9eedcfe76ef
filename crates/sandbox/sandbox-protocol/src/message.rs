/// Version of the formats of job and reply. Server and worker come from one build, so their
/// versions must be equal.
const VERSION: u32 = 1;
const JOB_MAGIC: u32 = u32::from_le_bytes(*b"PJOB");
const REPLY_MAGIC: u32 = u32::from_le_bytes(*b"PRPL");

/// Size of the header of a job in bytes. The plan of the job follows it.
pub const JOB_HEADER_BYTES: usize = 64;
/// Size of the header of a reply in bytes. The detail of the reply follows it.
pub const REPLY_HEADER_BYTES: usize = 64;
/// Maximum bytes of a job's plan; a picture's plan has 96 bytes, and a job may combine eight plans.
pub const PLAN_BYTES_MAX: usize = 1024;
/// Maximum bytes of the environment of a program's job.
pub const ENVIRONMENT_BYTES_MAX: u32 = 32 << 10;
/// Maximum bytes of the text for the log that a worker may add to its reply.
pub const DETAIL_BYTES_MAX: usize = 256;
/// Size of a buffer that holds any message.
pub const MESSAGE_BYTES_MAX: usize = JOB_HEADER_BYTES + PLAN_BYTES_MAX;

/// Resource limits of one job. The cell ends a job that exceeds a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobLimits {
    /// Maximum bytes of the output: the size of the memfd for the output, fixed by seals.
    pub output_bytes_max: u64,
    /// Maximum address space that the job may allocate, in addition to the address space that the
    /// worker uses before the job.
    pub memory_bytes_max: u64,
    /// Maximum CPU time in milliseconds.
    pub cpu_ms_max: u32,
}

/// One job, as the server sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job<'a> {
    /// Id chosen by the server; the reply must repeat it.
    pub id: u64,
    /// Resource limits of the job.
    pub limits: JobLimits,
    /// Random bytes for the job. Cells (sandboxed processes) are forked from one parent, so a
    /// random generator of the worker would have the same state in all cells.
    pub seed: [u8; 16],
    /// True if the job runs only when a core is otherwise idle.
    pub idle: bool,
    /// Description of the work, in a format agreed between the worker and the job's author.
    pub plan: &'a [u8],
}

impl<'a> Job<'a> {
    /// Encodes the job.
    ///
    /// # Panics
    /// If the plan is longer than [`PLAN_BYTES_MAX`]: a bug of the caller.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        assert!(
            self.plan.len() <= PLAN_BYTES_MAX,
            "a plan of {} bytes exceeds PLAN_BYTES_MAX",
            self.plan.len()
        );
        let mut out = Vec::with_capacity(JOB_HEADER_BYTES + self.plan.len());
        out.extend_from_slice(&JOB_MAGIC.to_le_bytes());
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.limits.output_bytes_max.to_le_bytes());
        out.extend_from_slice(&self.limits.memory_bytes_max.to_le_bytes());
        out.extend_from_slice(&self.limits.cpu_ms_max.to_le_bytes());
        out.extend_from_slice(&(self.plan.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.seed);
        out.extend_from_slice(&u32::from(self.idle).to_le_bytes());
        out.resize(JOB_HEADER_BYTES, 0);
        out.extend_from_slice(self.plan);
        out
    }

    /// Decodes a job that arrived in one packet.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are not exactly one job of this version.
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
        let output_bytes_max = fields.u64();
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
                output_bytes_max,
                memory_bytes_max,
                cpu_ms_max,
            },
            seed,
            idle,
            plan,
        })
    }

    /// Returns the size of the environment at the head of a program's input, as the plan states it.
    /// `None` if the plan is not that of a program.
    #[must_use]
    pub fn environment_bytes(&self) -> Option<u32> {
        let bytes = u32::from_le_bytes(self.plan.try_into().ok()?);
        (bytes <= ENVIRONMENT_BYTES_MAX).then_some(bytes)
    }
}

/// Outcome of a job, as the worker reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// The job is done, and its output is in the memfd.
    Done = 0,
    /// The original cannot be decoded.
    Undecodable = 1,
    /// The original is valid, but uses a feature that the worker does not support.
    Unsupported = 2,
    /// The job needed more memory or a longer output than its limits allow.
    TooLarge = 3,
    /// The worker failed for a reason that is not the original's fault.
    Failed = 4,
    /// The job exceeded its CPU time.
    TimedOut = 5,
    /// The encoder failed on this picture with these settings. The worker can run further jobs.
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

/// Values that the server expects of a valid reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// Id of the job that was sent.
    pub id: u64,
    /// Width and height of the output, if it is a picture.
    pub size_px: Option<(u32, u32)>,
    /// Maximum bytes of the output: the size of the memfd for the output.
    pub output_bytes_max: u64,
    /// True if the output may be empty. The output of a program may be empty, a picture may not.
    pub may_be_empty: bool,
}

/// Unverified reply, as a worker sends it. Its fields are private: a caller can read them only in
/// the [`Reply`] that [`AllegedReply::verify`] returns after it has checked them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllegedReply {
    id: u64,
    status: u32,
    width_px: u32,
    height_px: u32,
    output_bytes: u64,
    memory_peak_bytes: u64,
    cpu_us: u64,
    detail: Vec<u8>,
}

/// Reply that was verified against its job. The content of the output is still not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Outcome of the job.
    pub status: Status,
    /// Bytes of the output in the memfd. Zero if the status is not [`Status::Done`]; otherwise zero
    /// only with [`Expect::may_be_empty`].
    pub output_bytes: u64,
    /// Peak resident memory of the worker.
    pub memory_peak_bytes: u64,
    /// CPU time of the job.
    pub cpu_us: u64,
    /// Text for the log: printable ASCII of at most [`DETAIL_BYTES_MAX`] bytes.
    pub detail: String,
}

/// Protocol violation: a reply that contradicts its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The reply names another job.
    WrongJob,
    /// The reply's status does not exist.
    UnknownStatus,
    /// The size of the picture in the reply is not the job's [`Expect::size_px`].
    WrongSize,
    /// The output's length in the reply is impossible: it is greater than the memfd, or zero
    /// although the job is done and its output must not be empty, or not zero although the job is
    /// not done.
    WrongLength,
}

/// Reason why bytes cannot be decoded as a message of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes are too few, too many, or not as many as the header states.
    Length,
    /// The bytes do not start with the message's magic number.
    Magic,
    /// The message comes from another build.
    Version,
}

impl AllegedReply {
    /// Creates a reply to job `id`. `size_px` is the width and height of the output, or `(0, 0)` if
    /// the output is not a picture.
    #[must_use]
    pub fn new(id: u64, status: Status, size_px: (u32, u32), output_bytes: u64) -> AllegedReply {
        AllegedReply {
            id,
            status: status as u32,
            width_px: size_px.0,
            height_px: size_px.1,
            output_bytes,
            memory_peak_bytes: 0,
            cpu_us: 0,
            detail: Vec::new(),
        }
    }

    /// Adds the reason of a failure, cut at [`DETAIL_BYTES_MAX`].
    #[must_use]
    pub fn with_detail(mut self, detail: &str) -> AllegedReply {
        self.detail = detail.bytes().take(DETAIL_BYTES_MAX).collect();
        self
    }

    /// Adds the resource usage of the job.
    #[must_use]
    pub fn with_usage(mut self, memory_peak_bytes: u64, cpu_us: u64) -> AllegedReply {
        self.memory_peak_bytes = memory_peak_bytes;
        self.cpu_us = cpu_us;
        self
    }

    /// Encodes the reply.
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
        out.extend_from_slice(&self.output_bytes.to_le_bytes());
        out.extend_from_slice(&self.memory_peak_bytes.to_le_bytes());
        out.extend_from_slice(&self.cpu_us.to_le_bytes());
        out.resize(REPLY_HEADER_BYTES, 0);
        out.extend_from_slice(&self.detail);
        out
    }

    /// Decodes a reply that arrived in one packet. Nothing in it is trusted yet.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are not exactly one reply of this version.
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
        let output_bytes = fields.u64();
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
            output_bytes,
            memory_peak_bytes,
            cpu_us,
            detail,
        })
    }

    /// Checks the reply against its job.
    ///
    /// # Errors
    /// The first [`Violation`] found; the worker is at fault.
    pub fn verify(self, expect: &Expect) -> Result<Reply, Violation> {
        if self.id != expect.id {
            return Err(Violation::WrongJob);
        }
        let Some(&status) = Status::ALL
            .iter()
            .find(|status| **status as u32 == self.status)
        else {
            return Err(Violation::UnknownStatus);
        };
        if status == Status::Done {
            if expect
                .size_px
                .is_some_and(|size| size != (self.width_px, self.height_px))
            {
                return Err(Violation::WrongSize);
            }
            let empty = self.output_bytes == 0 && !expect.may_be_empty;
            if empty || expect.output_bytes_max < self.output_bytes {
                return Err(Violation::WrongLength);
            }
        } else if self.output_bytes != 0 {
            return Err(Violation::WrongLength);
        }
        let detail = self.detail.iter().map(|&byte| printable(byte)).collect();
        Ok(Reply {
            status,
            output_bytes: self.output_bytes,
            memory_peak_bytes: self.memory_peak_bytes,
            cpu_us: self.cpu_us,
            detail,
        })
    }
}

/// Returns the byte as a character, or `?` if it is not printable, since a worker's text reaches
/// the operator's terminal.
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
            .expect("the header contains all its fields");
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
