//! One microVM with one CPU, which runs the guest until the guest makes a system call or ends.

use super::cpu::{self, CALL_PORT, Refused, State, refused};
use super::layout::{LARGE_BYTES, Layout, RETURN_FRAME, STUB, SYSTEM};
use super::memory::Memory;
use kvm_bindings::{
    KVM_MAX_CPUID_ENTRIES, kvm_regs, kvm_sregs, kvm_userspace_memory_region, kvm_xsave,
};
use kvm_ioctls::{
    Kvm, MsrFilterDefaultAction, MsrFilterRange, MsrFilterRangeFlags, VcpuExit, VcpuFd, VmFd,
};
use std::rc::Rc;

const PAGE_FAULT: u16 = 14;

pub(crate) struct Machine {
    vcpu: VcpuFd,
    /// Registers of the guest at its latest stop.
    regs: kvm_regs,
    _vm: VmFd,
    pub(crate) memory: Memory,
}

/// Reason why the guest stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The guest made a system call, whose number and arguments are in the registers. `answer` lets
    /// the guest continue.
    Call,
    /// A signal of this process interrupted the guest.
    Interrupted,
    /// The guest cannot continue.
    Died(String),
}

/// CPU state of a thread that is not running. Registers that are missing here, such as XCR0, have
/// the same values in all threads, because ring 3 cannot write them.
#[derive(Clone)]
pub(crate) struct Parked {
    regs: kvm_regs,
    sregs: kvm_sregs,
    xsave: Rc<kvm_xsave>,
    /// True if the thread is at a system call: it continues when the call returns its result.
    at_call: bool,
}

impl Machine {
    /// Creates a machine around `memory`, with a new CPU.
    pub(crate) fn new(kvm: &Kvm, memory: Memory) -> Result<Machine, Refused> {
        let vm = kvm.create_vm().map_err(refused("KVM_CREATE_VM"))?;
        deny_msrs(&vm)?;
        let region = kvm_userspace_memory_region {
            slot: 0,
            flags: 0,
            guest_phys_addr: 0,
            memory_size: memory.bytes(),
            userspace_addr: memory.host_address(),
        };
        // SAFETY: the region is the reservation of `memory`. The memory outlives the VM, because
        // fields are dropped in order, and `memory` is the last field of the machine.
        unsafe { vm.set_user_memory_region(region) }
            .map_err(refused("KVM_SET_USER_MEMORY_REGION"))?;
        let vcpu = vm.create_vcpu(0).map_err(refused("KVM_CREATE_VCPU"))?;
        let supported = kvm
            .get_supported_cpuid(KVM_MAX_CPUID_ENTRIES)
            .map_err(refused("KVM_GET_SUPPORTED_CPUID"))?;
        cpu::set_up(&vcpu, &supported)?;
        Ok(Machine {
            memory,
            vcpu,
            regs: kvm_regs::default(),
            _vm: vm,
        })
    }

    /// Writes the memory of ring 0 and the page tables, and points the CPU at `entry`.
    pub(crate) fn prepare(
        &mut self,
        layout: &Layout,
        entry: u64,
        stack: u64,
    ) -> Result<(), Refused> {
        let system = self.memory.system_mut();
        assert_eq!(
            system.len() as u64,
            LARGE_BYTES,
            "ring 0 has the first large page"
        );
        for (place, bytes) in layout.tables()? {
            system[place as usize..place as usize + bytes.len()].copy_from_slice(&bytes);
        }
        cpu::write_ring0(system);
        self.start_at(entry, stack)
    }

    /// Lets the next `run` start at `entry`, with cleared registers.
    pub(crate) fn start_at(&mut self, entry: u64, stack: u64) -> Result<(), Refused> {
        cpu::write_return(self.memory.system_mut(), entry, 0, stack);
        self.regs = kvm_regs {
            rip: STUB + 2,
            rsp: RETURN_FRAME,
            rflags: 2,
            ..kvm_regs::default()
        };
        self.put_regs()
    }

    /// Runs the guest until it makes a system call, is interrupted or ends.
    pub(crate) fn run(&mut self) -> Result<Exit, Refused> {
        loop {
            let port = match self.vcpu.run() {
                Ok(VcpuExit::IoOut(port, _)) => port,
                Ok(VcpuExit::Shutdown) => {
                    return Ok(Exit::Died("died by a triple fault".to_owned()));
                }
                Ok(VcpuExit::MemoryFault { gpa, .. }) => {
                    return Ok(Exit::Died(format!("died by a write to code at {gpa:#x}")));
                }
                Ok(exit) => {
                    return Ok(Exit::Died(format!(
                        "died by an unexpected exit of the virtual CPU: {exit:?}"
                    )));
                }
                Err(error) => match error.errno() {
                    libc::EINTR => return Ok(Exit::Interrupted),
                    libc::EAGAIN => continue,
                    libc::EFAULT => {
                        return Ok(Exit::Died("died by a write outside its memory".to_owned()));
                    }
                    _ => return Err(refused("KVM_RUN")(error)),
                },
            };
            self.regs = self.vcpu.get_regs().map_err(refused("KVM_GET_REGS"))?;
            return match port {
                CALL_PORT => Ok(Exit::Call),
                PAGE_FAULT if self.is_call() => Ok(Exit::Call),
                vector => self.exception(vector).map(Exit::Died),
            };
        }
    }

    /// Returns whether a system call caused the page fault at which the guest stopped. If so,
    /// restores the guest's stack pointer.
    ///
    /// On a host that virtualises in software, `syscall` may jump to the stub (the code of ring 0)
    /// but leave the CPU in ring 3. The CPU then faults on the stub's first instruction. The
    /// registers are those of a normal system call, except for the stack pointer: the fault has
    /// switched to ring 0's stack. A program that itself jumps to the stub also makes a system
    /// call, and returns to the address in its `rcx`.
    fn is_call(&mut self) -> bool {
        match cpu::pushed(self.memory.system_mut(), self.regs.rsp) {
            Some((STUB, rsp)) => {
                self.regs.rsp = rsp;
                true
            }
            _ => false,
        }
    }

    /// Returns the number and the arguments of the system call at which the guest stopped.
    pub(crate) fn call(&self) -> (u64, [u64; 6]) {
        let regs = &self.regs;
        (
            regs.rax,
            [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9],
        )
    }

    /// Returns the stack pointer of ring 3 at the system call where the guest stopped.
    pub(crate) fn stack_pointer(&self) -> u64 {
        self.regs.rsp
    }

    /// Makes the system call at which the guest stopped return `result`.
    pub(crate) fn answer(&mut self, result: i64) -> Result<(), Refused> {
        let regs = &self.regs;
        cpu::write_return(self.memory.system_mut(), regs.rcx, regs.r11, regs.rsp);
        self.regs.rax = result as u64;
        self.regs.rsp = RETURN_FRAME;
        self.regs.rip = STUB + 2;
        self.put_regs()
    }

    /// Returns whether an interrupted guest runs its program, not the instructions of ring 0.
    pub(crate) fn is_in_program(&mut self) -> Result<bool, Refused> {
        const RING: u16 = 3;
        self.regs = self.vcpu.get_regs().map_err(refused("KVM_GET_REGS"))?;
        let sregs = self.vcpu.get_sregs().map_err(refused("KVM_GET_SREGS"))?;
        Ok(sregs.cs.selector & RING == RING && SYSTEM.end <= self.regs.rip)
    }

    /// Saves the CPU state of the current thread. The thread is at a system call (`at_call`), or
    /// was interrupted in the program's own code.
    pub(crate) fn park(&self, at_call: bool) -> Result<Parked, Refused> {
        Ok(Parked {
            regs: self.regs,
            sregs: self.vcpu.get_sregs().map_err(refused("KVM_GET_SREGS"))?,
            xsave: Rc::new(self.vcpu.get_xsave().map_err(refused("KVM_GET_XSAVE"))?),
            at_call,
        })
    }

    /// Returns the CPU state of a new thread. Like the current thread, the new thread continues
    /// after the current system call, but it has another stack and, if `tls` is given, other
    /// thread-local storage.
    pub(crate) fn fork(&self, stack: u64, tls: Option<u64>) -> Result<Parked, Refused> {
        let mut parked = self.park(true)?;
        parked.regs.rsp = stack;
        if let Some(tls) = tls {
            parked.sregs.fs.base = tls;
        }
        Ok(parked)
    }

    /// Loads the CPU state of a thread. If the thread is at a system call, that call returns
    /// `result`.
    pub(crate) fn unpark(&mut self, parked: &Parked, result: i64) -> Result<(), Refused> {
        self.vcpu
            .set_sregs(&parked.sregs)
            .map_err(refused("KVM_SET_SREGS"))?;
        // SAFETY: the structure has 4,096 bytes, and XCR0 allows no state that needs more.
        unsafe { self.vcpu.set_xsave(&parked.xsave) }.map_err(refused("KVM_SET_XSAVE"))?;
        self.regs = parked.regs;
        if parked.at_call {
            self.answer(result)
        } else {
            self.put_regs()
        }
    }

    fn put_regs(&self) -> Result<(), Refused> {
        self.vcpu
            .set_regs(&self.regs)
            .map_err(refused("KVM_SET_REGS"))
    }

    pub(crate) fn set_fs_base(&mut self, base: u64) -> Result<(), Refused> {
        self.change_sregs(|sregs| sregs.fs.base = base)
    }

    pub(crate) fn set_gs_base(&mut self, base: u64) -> Result<(), Refused> {
        self.change_sregs(|sregs| sregs.gs.base = base)
    }

    pub(crate) fn fs_base(&self) -> Result<u64, Refused> {
        let sregs = self.vcpu.get_sregs().map_err(refused("KVM_GET_SREGS"))?;
        Ok(sregs.fs.base)
    }

    fn change_sregs(
        &self,
        change: impl FnOnce(&mut kvm_bindings::kvm_sregs),
    ) -> Result<(), Refused> {
        let mut sregs = self.vcpu.get_sregs().map_err(refused("KVM_GET_SREGS"))?;
        change(&mut sregs);
        self.vcpu
            .set_sregs(&sregs)
            .map_err(refused("KVM_SET_SREGS"))
    }

    /// Returns all state of the CPU at the current system call.
    pub(crate) fn save(&self) -> Result<State, Refused> {
        State::save(&self.vcpu, self.regs)
    }

    /// Restores CPU and memory to the moment when `state` was saved.
    pub(crate) fn restore(&mut self, state: &State) -> Result<(), Refused> {
        self.memory
            .wipe()
            .map_err(|errno| format!("drop pages: {errno}"))?;
        state.restore(&self.vcpu)?;
        self.regs = *state.regs();
        Ok(())
    }

    fn exception(&mut self, vector: u16) -> Result<String, Refused> {
        let stack = self.regs.rsp;
        let place = match cpu::pushed(self.memory.system_mut(), stack) {
            Some((rip, rsp)) => format!(", instruction pointer {rip:#x}, stack pointer {rsp:#x}"),
            None => String::new(),
        };
        let sregs = self.vcpu.get_sregs().map_err(refused("KVM_GET_SREGS"))?;
        Ok(match vector {
            PAGE_FAULT => format!("died by a page fault at address {:#x}{place}", sregs.cr2),
            _ => format!(
                "died by exception {vector}, {}{place}",
                exception_name(vector)
            ),
        })
    }
}

/// Denies the guest all MSRs. Ring 3 cannot access them anyway, and ring 0 has no code that does.
/// KVM ignores a filter without a range, so this filter has a range in which no bit allows
/// anything.
fn deny_msrs(vm: &VmFd) -> Result<(), Refused> {
    let nothing = [0];
    let range = MsrFilterRange {
        flags: MsrFilterRangeFlags::READ | MsrFilterRangeFlags::WRITE,
        base: 0,
        msr_count: 8,
        bitmap: &nothing,
    };
    vm.set_msr_filter(MsrFilterDefaultAction::DENY, &[range])
        .map_err(refused("KVM_X86_SET_MSR_FILTER"))
}

fn exception_name(vector: u16) -> &'static str {
    match vector {
        0 => "division",
        1 => "debug",
        3 => "breakpoint",
        4 => "overflow",
        6 => "illegal instruction",
        13 => "general protection",
        16 | 19 => "floating point",
        17 => "alignment",
        _ => "unexpected",
    }
}
