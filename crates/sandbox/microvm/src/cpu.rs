//! The one CPU of a guest: its initial state, the features that it reports, and the state that a
//! wipe (the reset after a job) restores.
//!
//! No part of the state is restored twice. The FS and GS bases are restored with the special
//! registers. XSAVE restores the x87, SSE, AVX and AVX-512 registers, including the mask registers,
//! and MXCSR. A fixed list of MSRs is restored separately, as a precaution: the guest cannot change
//! any MSR, because ring 3 may not write MSRs, and the code of ring 0 writes none.

use super::layout::{
    EXCEPTION_STACK_TOP, GDT, IDT, PAGE_BYTES, RETURN_FRAME, RING0_STACK, STUB, TSS,
};
use kvm_bindings::{
    CpuId, KVM_CPUID_FLAG_SIGNIFCANT_INDEX, Msrs, kvm_cpuid_entry2, kvm_debugregs, kvm_msr_entry,
    kvm_regs, kvm_segment, kvm_sregs, kvm_vcpu_events, kvm_xcrs, kvm_xsave,
};
use kvm_ioctls::VcpuFd;
use std::arch::x86_64::__cpuid_count;

/// I/O port to which ring 0 writes at a system call. A write to a lower port reports the exception
/// whose vector is the port's number.
pub(super) const CALL_PORT: u16 = 0x40;
/// Number of the processor's exception vectors.
pub(super) const VECTORS: u64 = 32;

const KERNEL_CODE: u16 = 0x10;
const KERNEL_DATA: u16 = 0x18;
/// Segment selectors of ring 3: the same as in Linux, since programs may read them.
pub(super) const USER_DATA: u16 = 0x2b;
pub(super) const USER_CODE: u16 = 0x33;
const TASK: u16 = 0x40;

/// Maximum XCR0 of a guest: x87, SSE, AVX and the three parts of AVX-512. Tile registers are left
/// out, because their state takes 8 KB.
const XCR0_MAX: u64 = 0xe7;

const STAR: u32 = 0xc000_0081;
const LSTAR: u32 = 0xc000_0082;
const CSTAR: u32 = 0xc000_0083;
const SYSCALL_MASK: u32 = 0xc000_0084;
const KERNEL_GS_BASE: u32 = 0xc000_0102;
const TSC_AUX: u32 = 0xc000_0103;
const SYSENTER_CS: u32 = 0x174;
const SYSENTER_ESP: u32 = 0x175;
const SYSENTER_EIP: u32 = 0x176;
const PAT: u32 = 0x277;
const MSRS: [u32; 10] = [
    STAR,
    LSTAR,
    CSTAR,
    SYSCALL_MASK,
    KERNEL_GS_BASE,
    TSC_AUX,
    SYSENTER_CS,
    SYSENTER_ESP,
    SYSENTER_EIP,
    PAT,
];

/// State of a CPU that a wipe (the reset after a job) restores. It contains every register that a
/// program can change. As a precaution, it also contains registers that a program cannot change.
pub(crate) struct State {
    regs: kvm_regs,
    sregs: kvm_sregs,
    xsave: Box<kvm_xsave>,
    xcrs: kvm_xcrs,
    debug: kvm_debugregs,
    msrs: Msrs,
    events: kvm_vcpu_events,
}

pub(super) type Refused = String;

pub(super) fn refused(action: &'static str) -> impl FnOnce(kvm_ioctls::Error) -> Refused {
    move |error| format!("{action}: {}", std::io::Error::from(error))
}

impl State {
    /// Reads the state of a stopped CPU. `regs` are its registers at the system call where it
    /// stopped.
    pub(super) fn save(vcpu: &VcpuFd, regs: kvm_regs) -> Result<State, Refused> {
        Ok(State {
            regs,
            sregs: vcpu.get_sregs().map_err(refused("KVM_GET_SREGS"))?,
            xsave: Box::new(vcpu.get_xsave().map_err(refused("KVM_GET_XSAVE"))?),
            xcrs: vcpu.get_xcrs().map_err(refused("KVM_GET_XCRS"))?,
            debug: vcpu
                .get_debug_regs()
                .map_err(refused("KVM_GET_DEBUGREGS"))?,
            msrs: read_msrs(vcpu)?,
            events: vcpu
                .get_vcpu_events()
                .map_err(refused("KVM_GET_VCPU_EVENTS"))?,
        })
    }

    /// Writes the state to a stopped CPU.
    pub(super) fn restore(&self, vcpu: &VcpuFd) -> Result<(), Refused> {
        vcpu.set_sregs(&self.sregs)
            .map_err(refused("KVM_SET_SREGS"))?;
        vcpu.set_xcrs(&self.xcrs).map_err(refused("KVM_SET_XCRS"))?;
        // SAFETY: the structure has 4,096 bytes, and XCR0 allows no state that needs more.
        unsafe { vcpu.set_xsave(&self.xsave) }.map_err(refused("KVM_SET_XSAVE"))?;
        vcpu.set_debug_regs(&self.debug)
            .map_err(refused("KVM_SET_DEBUGREGS"))?;
        write_msrs(vcpu, &self.msrs)?;
        vcpu.set_vcpu_events(&self.events)
            .map_err(refused("KVM_SET_VCPU_EVENTS"))?;
        vcpu.set_regs(&self.regs).map_err(refused("KVM_SET_REGS"))
    }

    pub(super) fn regs(&self) -> &kvm_regs {
        &self.regs
    }
}

fn read_msrs(vcpu: &VcpuFd) -> Result<Msrs, Refused> {
    let entries = MSRS.map(|index| kvm_msr_entry {
        index,
        ..kvm_msr_entry::default()
    });
    let mut msrs = Msrs::from_entries(&entries).expect("KVM accepts ten entries");
    match vcpu.get_msrs(&mut msrs).map_err(refused("KVM_GET_MSRS"))? {
        read if read == MSRS.len() => Ok(msrs),
        read => Err(format!("KVM_GET_MSRS: {:#x} is missing", MSRS[read])),
    }
}

fn write_msrs(vcpu: &VcpuFd, msrs: &Msrs) -> Result<(), Refused> {
    match vcpu.set_msrs(msrs).map_err(refused("KVM_SET_MSRS"))? {
        written if written == msrs.as_slice().len() => Ok(()),
        written => Err(format!(
            "KVM_SET_MSRS: {:#x} refused",
            msrs.as_slice()[written].index
        )),
    }
}

/// Prepares a new CPU for ring 3.
pub(super) fn set_up(vcpu: &VcpuFd, supported: &CpuId) -> Result<(), Refused> {
    let cpuid = cpuid(supported);
    vcpu.set_cpuid2(&cpuid).map_err(refused("KVM_SET_CPUID2"))?;
    let mut sregs = vcpu.get_sregs().map_err(refused("KVM_GET_SREGS"))?;
    const CR0_PE_MP_ET_NE_WP_PG: u64 = 1 | 1 << 1 | 1 << 4 | 1 << 5 | 1 << 16 | 1 << 31;
    const CR4_PAE_OSFXSR_OSXMMEXCPT_OSXSAVE: u64 = 1 << 5 | 1 << 9 | 1 << 10 | 1 << 18;
    const EFER_SCE_LME_LMA_NXE: u64 = 1 | 1 << 8 | 1 << 10 | 1 << 11;
    sregs.cr0 = CR0_PE_MP_ET_NE_WP_PG;
    sregs.cr4 = CR4_PAE_OSFXSR_OSXMMEXCPT_OSXSAVE;
    sregs.efer = EFER_SCE_LME_LMA_NXE;
    // Address of the layout's first page table, which is the root.
    sregs.cr3 = 0x1_0000;
    sregs.gdt.base = GDT;
    sregs.gdt.limit = TASK + 15;
    sregs.idt.base = IDT;
    sregs.idt.limit = (VECTORS * 16 - 1) as u16;
    sregs.cs = kernel_code();
    let data = segment(KERNEL_DATA, 3, 0);
    (sregs.ss, sregs.ds, sregs.es, sregs.fs, sregs.gs) = (data, data, data, data, data);
    sregs.tr = kvm_segment {
        base: TSS,
        limit: 103,
        selector: TASK,
        type_: 11,
        present: 1,
        ..kvm_segment::default()
    };
    sregs.ldt = kvm_segment {
        unusable: 1,
        type_: 2,
        ..kvm_segment::default()
    };
    vcpu.set_sregs(&sregs).map_err(refused("KVM_SET_SREGS"))?;
    let mut xcrs = kvm_xcrs {
        nr_xcrs: 1,
        ..kvm_xcrs::default()
    };
    xcrs.xcrs[0].value = xcr0();
    vcpu.set_xcrs(&xcrs).map_err(refused("KVM_SET_XCRS"))?;
    // `syscall` loads ring 0's selectors and clears the flags for interrupts, traps, direction and
    // alignment checks.
    let values = [
        (
            STAR,
            u64::from(KERNEL_CODE) << 32 | u64::from(USER_DATA - 8) << 48,
        ),
        (LSTAR, STUB),
        (SYSCALL_MASK, 0x4_7700),
    ];
    let entries = values.map(|(index, data)| kvm_msr_entry {
        index,
        data,
        ..kvm_msr_entry::default()
    });
    write_msrs(
        vcpu,
        &Msrs::from_entries(&entries).expect("KVM accepts three entries"),
    )
}

fn kernel_code() -> kvm_segment {
    kvm_segment {
        l: 1,
        db: 0,
        ..segment(KERNEL_CODE, 11, 0)
    }
}

fn segment(selector: u16, type_: u8, dpl: u8) -> kvm_segment {
    kvm_segment {
        selector,
        type_,
        dpl,
        limit: u32::MAX,
        present: 1,
        db: 1,
        s: 1,
        g: 1,
        ..kvm_segment::default()
    }
}

/// Returns the bits of this host's XCR0 that guests may use.
fn xcr0() -> u64 {
    let low = __cpuid_count(0xd, 0);
    XCR0_MAX & (u64::from(low.edx) << 32 | u64::from(low.eax))
}

/// Returns the processor features that the instruction `cpuid` reports to the guest: the features
/// of the host's processor, without those that a program must not use. They take effect only on
/// hosts that intercept `cpuid`.
fn cpuid(supported: &CpuId) -> CpuId {
    let mut entries: Vec<kvm_cpuid_entry2> = Vec::new();
    for known in supported.as_slice() {
        // Leaves of hypervisors do not describe the processor, so they are left out.
        if (0x4000_0000..0x5000_0000).contains(&known.function) {
            continue;
        }
        let host = __cpuid_count(known.function, known.index);
        let mut entry = kvm_cpuid_entry2 {
            eax: host.eax,
            ebx: host.ebx,
            ecx: host.ecx,
            edx: host.edx,
            ..*known
        };
        hide(&mut entry);
        entries.push(entry);
    }
    // Leaf 0xd describes the extended state. On hosts that do not intercept `cpuid`, KVM does not
    // list this leaf, but accepts an entry for it.
    for index in 0..8 {
        if !entries
            .iter()
            .any(|entry| (entry.function, entry.index) == (0xd, index))
        {
            let host = __cpuid_count(0xd, index);
            let mut entry = kvm_cpuid_entry2 {
                function: 0xd,
                index,
                flags: KVM_CPUID_FLAG_SIGNIFCANT_INDEX,
                eax: host.eax,
                ebx: host.ebx,
                ecx: host.ecx,
                edx: host.edx,
                ..kvm_cpuid_entry2::default()
            };
            hide(&mut entry);
            entries.push(entry);
        }
    }
    CpuId::from_entries(&entries).expect("KVM accepts the kernel's own entries and eight more")
}

fn hide(entry: &mut kvm_cpuid_entry2) {
    const MONITOR_VMX_SMX: u32 = 1 << 3 | 1 << 5 | 1 << 6;
    const X2APIC_DEADLINE_HYPERVISOR: u32 = 1 << 21 | 1 << 24 | 1 << 31;
    const SGX_INVPCID_HLE_RTM_MPX_PT: u32 = 1 << 2 | 1 << 10 | 1 << 4 | 1 << 11 | 1 << 14 | 1 << 25;
    const PKU_SHADOW_STACK_LA57_SGX: u32 = 1 << 3 | 1 << 4 | 1 << 7 | 1 << 16 | 1 << 30;
    const BRANCH_TRACKING_TILES: u32 = 1 << 20 | 1 << 22 | 1 << 24 | 1 << 25;
    match (entry.function, entry.index) {
        (1, _) => entry.ecx &= !(MONITOR_VMX_SMX | X2APIC_DEADLINE_HYPERVISOR),
        (7, 0) => {
            entry.ebx &= !SGX_INVPCID_HLE_RTM_MPX_PT;
            entry.ecx &= !PKU_SHADOW_STACK_LA57_SGX;
            entry.edx &= !BRANCH_TRACKING_TILES;
        }
        (0xd, 0) => {
            entry.eax &= XCR0_MAX as u32;
            entry.edx = 0;
        }
        // Hides the compacted forms of XSAVE and its supervisor states from the guest.
        (0xd, 1) => (entry.eax, entry.ebx, entry.ecx, entry.edx) = (entry.eax & 1, 0, 0, 0),
        (0xd, index) if XCR0_MAX & 1 << index == 0 => {
            (entry.eax, entry.ebx, entry.ecx, entry.edx) = (0, 0, 0, 0);
        }
        // Hides SVM, AMD's virtualisation extension.
        (0x8000_0001, _) => entry.ecx &= !(1 << 2),
        (0x8000_000a, _) => (entry.eax, entry.ebx, entry.ecx, entry.edx) = (0, 0, 0, 0),
        _ => {}
    }
}

/// Writes the memory of ring 0: its descriptor tables and its few instructions.
pub(super) fn write_ring0(system: &mut [u8]) {
    let mut put = |at: u64, bytes: &[u8]| {
        system[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    };
    const FLAT: u64 = 0x00cf_0000_0000_ffff;
    const CODE64: u64 = 0x00af_0000_0000_ffff;
    let access = |byte: u64| byte << 40;
    let descriptors = [
        (KERNEL_CODE, CODE64 | access(0x9b)),
        (KERNEL_DATA, FLAT | access(0x93)),
        (USER_DATA & !3, FLAT | access(0xf3)),
        (USER_CODE & !3, CODE64 | access(0xfb)),
        (TASK, 103 | TSS << 16 | access(0x8b)),
    ];
    for (selector, descriptor) in descriptors {
        put(GDT + u64::from(selector), &descriptor.to_le_bytes());
    }
    // Top of the stack to which the processor pushes the frame of an exception in ring 3.
    put(TSS + 4, &EXCEPTION_STACK_TOP.to_le_bytes());
    // Offset of the I/O permission map: beyond the segment's end, so ring 3 has no ports.
    put(TSS + 102, &104_u16.to_le_bytes());
    // Machine code of `out CALL_PORT, al; iretq`.
    put(STUB, &[0xe6, CALL_PORT as u8, 0x48, 0xcf]);
    for vector in 0..VECTORS {
        let handler = STUB + 0x100 + vector * 16;
        // Machine code of `out vector, al; hlt`.
        put(handler, &[0xe6, vector as u8, 0xf4]);
        let gate = (handler & 0xffff)
            | u64::from(KERNEL_CODE) << 16
            | 0x8e << 40
            | (handler >> 16 & 0xffff) << 48;
        put(IDT + vector * 16, &gate.to_le_bytes());
    }
}

/// Writes the frame that ring 0's `iretq` pops to return to ring 3.
pub(super) fn write_return(system: &mut [u8], rip: u64, flags: u64, rsp: u64) {
    const FLAGS_ALWAYS_ON: u64 = 2;
    // Arithmetic flags, direction, alignment check and id: the flags that ring 3 could set itself.
    const FLAGS_OF_RING3: u64 = 0x24_0cd5;
    let flags = flags & FLAGS_OF_RING3 | FLAGS_ALWAYS_ON;
    let frame = [rip, u64::from(USER_CODE), flags, rsp, u64::from(USER_DATA)];
    for (place, word) in (RETURN_FRAME as usize..).step_by(8).zip(frame) {
        system[place..place + 8].copy_from_slice(&word.to_le_bytes());
    }
}

/// Returns the instruction pointer and the stack pointer of the interrupted code from the frame
/// that an exception pushed. Returns `None` if ring 0's stack pointer, `stack`, does not point to
/// such a frame.
pub(super) fn pushed(system: &[u8], stack: u64) -> Option<(u64, u64)> {
    let word = |place: u64| {
        let within = RING0_STACK.contains(&place) && place + 8 <= RING0_STACK.start + PAGE_BYTES;
        let bytes = system[place as usize..].first_chunk().filter(|_| within)?;
        Some(u64::from_le_bytes(*bytes))
    };
    // The frame is the five words below the top. For some exceptions, the processor pushes an error
    // code below the frame.
    let frame = EXCEPTION_STACK_TOP - 40;
    (stack <= frame).then_some(())?;
    Some((word(frame)?, word(frame + 24)?))
}
