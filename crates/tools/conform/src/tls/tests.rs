use super::{sslyze_findings, testssl_findings};

#[test]
fn what_testssl_faults_is_found_and_its_end_is_asked_for() {
    let report = r#""id","fqdn/ip","port","severity","finding","cve","cwe"
"SSLv2","localhost/127.0.0.1","443","OK","not offered","",""
"TLS1","localhost/127.0.0.1","443","LOW","offered (deprecated)","",""
"#;
    assert_eq!(testssl_findings(report), None);
    let whole = format!(
        "{report}\"clientsimulation-go\",\"localhost/127.0.0.1\",\"443\",\"INFO\",\"TLSv1.3\",\"\",\"\"\n"
    );
    let findings = testssl_findings(&whole).expect("it came to its end");
    let names: Vec<_> = findings.iter().map(|it| (&*it.name, &*it.detail)).collect();
    assert_eq!(names, [("TLS1", "LOW offered (deprecated)")]);
    assert_eq!(findings[0].reason(), None);
}

#[test]
fn what_sslyze_faults_is_found_and_a_verdict_is_asked_for() {
    assert_eq!(sslyze_findings("SCANS COMPLETED"), None);
    let passed = "COMPLIANCE AGAINST TLS CONFIGURATION\n    localhost:443: OK - Compliant.\n";
    assert_eq!(sslyze_findings(passed), Some(Vec::new()));
    let failed = "COMPLIANCE AGAINST TLS CONFIGURATION\n    localhost:443: FAILED - Not compliant.\n        \
                  * certificate_path_validation: it failed for CN=localhost.\n        \
                  * tls_versions: TLS 1.1 is not to be there\n";
    let findings = sslyze_findings(failed).expect("there is a verdict");
    let reasons = findings.iter().map(|it| (&*it.name, it.reason().is_some()));
    let expected = [
        ("certificate_path_validation", true),
        ("tls_versions", false),
    ];
    assert_eq!(reasons.collect::<Vec<_>>(), expected);
}
