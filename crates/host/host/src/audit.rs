//! State of the audit of system calls, and base chains of nftables. Both need privileges.

use std::time::Instant;

use host_checks::{Audit, Unread};
use rustix::net::netlink::{AUDIT, NETFILTER};

use crate::netlink::{Expect, Netlink, attribute, number, text};

// linux/audit.h.
const AUDIT_GET: u16 = 1000;
const AUDIT_LIST_RULES: u16 = 1013;
const AUDIT_FILTER_TASK: u32 = 1;
const AUDIT_FILTER_PREPEND: u32 = 0x10;
const AUDIT_NEVER: u32 = 0;
// linux/netfilter/nfnetlink.h, linux/netfilter/nf_tables.h.
const NFT_MSG_GETCHAIN: u16 = 10 << 8 | 4;
const NFGENMSG_BYTES: usize = 4;
const NFTA_CHAIN_TABLE: u16 = 1;
const NFTA_CHAIN_NAME: u16 = 3;
const NFTA_CHAIN_HOOK: u16 = 4;

/// Reads the state of the audit. Needs `CAP_AUDIT_CONTROL`.
pub(crate) fn audit(deadline: Instant) -> Result<Audit, Unread> {
    let mut netlink = Netlink::open(Some(AUDIT), deadline)?;
    let status = netlink.ask(AUDIT_GET, Expect::One, &[])?;
    let status = status.iter().find(|message| message.kind == AUDIT_GET);
    // `enabled` is the second field of `struct audit_status`.
    let enabled = status.and_then(|message| number(&message.payload, 4));
    let rules = netlink.ask(AUDIT_LIST_RULES, Expect::List, &[])?;
    let rules: Vec<_> = rules
        .iter()
        .filter(|message| message.kind == AUDIT_LIST_RULES)
        .collect();
    Ok(Audit {
        enabled: enabled.ok_or(Unread::Malformed)?,
        rules: rules.len(),
        exempts_processes: rules.iter().any(|rule| is_never_task(&rule.payload)),
    })
}

/// Returns whether a rule is `never,task` without a condition. `rule` is a `struct
/// audit_rule_data`, which begins with the filter, the action and the number of conditions.
pub(crate) fn is_never_task(rule: &[u8]) -> bool {
    let [filter, action, conditions] = [0, 4, 8].map(|offset| number(rule, offset));
    let filter = filter.map(|filter| filter & !AUDIT_FILTER_PREPEND);
    (filter, action, conditions) == (Some(AUDIT_FILTER_TASK), Some(AUDIT_NEVER), Some(0))
}

/// Lists the base chains of nftables, as table and chain. Needs `CAP_NET_ADMIN`.
pub(crate) fn chains(deadline: Instant) -> Result<Vec<String>, Unread> {
    let mut netlink = Netlink::open(Some(NETFILTER), deadline)?;
    let found = netlink.ask(NFT_MSG_GETCHAIN, Expect::Dump, &[0; NFGENMSG_BYTES])?;
    Ok(found
        .iter()
        .filter_map(|message| base_chain(&message.payload))
        .collect())
}

/// Returns the table and name of a base chain. Returns `None` for other chains, which packets enter
/// only by a jump.
pub(crate) fn base_chain(message: &[u8]) -> Option<String> {
    let attributes = message.get(NFGENMSG_BYTES..)?;
    attribute(attributes, NFTA_CHAIN_HOOK)?;
    let table = text(attribute(attributes, NFTA_CHAIN_TABLE)?)?;
    let chain = text(attribute(attributes, NFTA_CHAIN_NAME)?)?;
    Some(format!("{table} {chain}"))
}
