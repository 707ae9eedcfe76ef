//! Compares the compiled filters with the tables from which they are compiled, by interpreting the
//! filters as the kernel does.

use super::{
    ALLOW, ARCHITECTURE, ARGUMENTS, Always, INIT, Is, KILL, LAUNCHER, Lacks, MACHINE, NO_ACCESS,
    NO_SUCH_CALL, NUMBER, Program, Rule, X32, X86_64, ZYGOTE, compile,
};
use proptest::prelude::*;

/// One system call, as a filter sees it (`struct seccomp_data` of the kernel).
#[derive(Clone, Copy, Debug)]
struct Call {
    number: u32,
    architecture: u32,
    arguments: [u64; 6],
}

impl Call {
    fn new(number: libc::c_long, arguments: [u64; 6]) -> Call {
        Call {
            number: number as u32,
            architecture: X86_64,
            arguments,
        }
    }

    fn load(&self, offset: u32) -> u32 {
        match offset {
            NUMBER => self.number,
            ARCHITECTURE => self.architecture,
            _ => {
                let at = offset
                    .checked_sub(ARGUMENTS)
                    .expect("no filter asks for the address");
                let argument = self.arguments[(at / 8) as usize];
                (argument >> (at % 8 * 8)) as u32
            }
        }
    }
}

/// Interprets a filter; supports only the instructions that our filters use.
fn interpret(program: &[libc::sock_filter], call: &Call) -> u32 {
    let mut word = 0;
    let mut at = 0;
    loop {
        let op = program[at];
        let code = u32::from(op.code);
        let jump = |holds| usize::from(if holds { op.jt } else { op.jf });
        at += 1;
        match (code & 7, code & 0xf0) {
            (libc::BPF_LD, _) => word = call.load(op.k),
            (libc::BPF_RET, _) => return op.k,
            (libc::BPF_JMP, libc::BPF_JEQ) => at += jump(word == op.k),
            (libc::BPF_JMP, libc::BPF_JGE) => at += jump(word >= op.k),
            (libc::BPF_JMP, libc::BPF_JSET) => at += jump(word & op.k != 0),
            other => panic!("{other:?}"),
        }
    }
}

/// Returns the verdict of the first rule that matches `call`, or `otherwise` if no rule matches.
fn expected_verdict(rules: &[Rule], otherwise: u32, call: &Call) -> u32 {
    if call.architecture != X86_64 || X32 <= call.number {
        return KILL;
    }
    let holds = |rule: &&Rule| {
        rule.call as u32 == call.number
            && match rule.when {
                Always => true,
                Is(argument, value) => call.arguments[usize::from(argument)] == value.into(),
                Lacks(argument, bits) => call.arguments[usize::from(argument)] as u32 & bits == 0,
            }
    };
    rules
        .iter()
        .find(holds)
        .map_or(otherwise, |rule| rule.verdict)
}

proptest! {
    #[test]
    fn a_program_says_what_its_table_says(
        number in prop_oneof![0_u32..500, any::<u32>()],
        native in any::<bool>(),
        arguments in prop::array::uniform6(prop_oneof![0_u64..200, any::<u64>()]),
    ) {
        let architecture = if native { X86_64 } else { 0x4000_0003 };
        let call = Call { number, architecture, arguments };
        for rules in [ZYGOTE, INIT, MACHINE, LAUNCHER] {
            for otherwise in [KILL, NO_SUCH_CALL] {
                let compiled = compile(rules, otherwise);
                prop_assert_eq!(interpret(&compiled, &call), expected_verdict(rules, otherwise, &call));
            }
        }
    }
}

#[test]
fn every_rule_is_reached() {
    for rules in [ZYGOTE, MACHINE, LAUNCHER] {
        assert_reached(rules);
    }
}

fn assert_reached(rules: &[Rule]) {
    let program = compile(rules, KILL);
    for rule in rules {
        let mut arguments = [0; 6];
        if let Is(argument, value) = rule.when {
            arguments[usize::from(argument)] = value.into();
        }
        let call = Call::new(rule.call, arguments);
        assert_eq!(
            interpret(&program, &call),
            rule.verdict,
            "call {}",
            rule.call
        );
    }
}

#[test]
fn a_child_loses_fork_and_nothing_else() {
    let Program(program) = Program::child();
    let lost: Vec<_> = (0..500)
        .filter(|number| interpret(&program, &Call::new(*number, [0; 6])) != ALLOW)
        .collect();
    assert_eq!(lost, [libc::SYS_clone]);
}

#[test]
fn a_program_may_start_threads_and_no_process() {
    const FILE: i32 = 7;
    let Program(program) = Program::of_program(FILE);
    let clone = |flags: i32| {
        let arguments = [flags as u64, 0, 0, 0, 0, 0];
        interpret(&program, &Call::new(libc::SYS_clone, arguments))
    };
    assert_eq!(clone(libc::CLONE_VM | libc::CLONE_THREAD), ALLOW);
    assert_ne!(clone(libc::SIGCHLD), ALLOW);
    for lost in [
        libc::SYS_setpgid,
        libc::SYS_prctl,
        libc::SYS_dup3,
        libc::SYS_sendmsg,
    ] {
        let verdict = interpret(&program, &Call::new(lost, [0; 6]));
        assert_eq!(verdict, NO_SUCH_CALL, "{lost}");
    }
    let execute = |file: i32| {
        let arguments = [file as u64, 0, 0, 0, 0, 0];
        interpret(&program, &Call::new(libc::SYS_execveat, arguments))
    };
    assert_eq!(execute(FILE), ALLOW);
    for other in [0, 1, 3, 4, FILE + 1, -1] {
        assert_ne!(execute(other), ALLOW, "{other}");
    }
    assert_eq!(
        interpret(&program, &Call::new(libc::SYS_read, [0; 6])),
        ALLOW
    );
}

#[test]
fn a_filters_hash_tells_it_from_another() {
    let (zygote, init) = (Program::zygote(), Program::init());
    assert_eq!(zygote.hash(), Program::zygote().hash());
    assert_ne!(zygote.hash(), init.hash());
}

#[test]
fn files_are_opened_to_be_read_and_for_nothing_else() {
    let Program(program) = Program::launcher(true);
    for (call, argument) in [(libc::SYS_open, 1), (libc::SYS_openat, 2)] {
        let open = |flags: i32| {
            let mut arguments = [0; 6];
            arguments[argument] = flags as u64;
            interpret(&program, &Call::new(call, arguments))
        };
        for flags in [0, libc::O_CLOEXEC, libc::O_NOFOLLOW | libc::O_NONBLOCK] {
            assert_eq!(open(libc::O_RDONLY | flags), ALLOW, "{flags:#o}");
        }
        for flags in [
            libc::O_WRONLY,
            libc::O_RDWR,
            libc::O_ACCMODE,
            libc::O_PATH,
            libc::O_PATH | libc::O_NOFOLLOW,
            libc::O_TRUNC,
            libc::O_CREAT,
            libc::O_TMPFILE,
            libc::O_DIRECTORY,
        ] {
            assert_eq!(open(flags), NO_ACCESS, "{flags:#o}");
        }
    }
}
