use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

fn root(attributes: &str) -> Vec<u8> {
    format!("<?xml version='1.0'?>\n<!-- a > b -->\n<svg {attributes}><g/></svg>").into_bytes()
}

fn packed(file: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::fast());
    writer.write_all(file).expect("a buffer");
    writer.finish().expect("a buffer")
}

#[test]
fn sizes_of_drawings() {
    let attributes = [
        "width='30' height='20'",
        "width=\"30px\"\n height = \"20.4px\" xmlns='http://www.w3.org/2000/svg'",
        "height='1in' width='72pt'",
        "width='25.4mm' height='2.54cm'",
        "width='1pc' height='0.4'",
        "viewBox='0 0 300 100'",
        "viewBox='0,0,300,100' width='60'",
        "viewBox='-5 -5 300 100' height='60'",
        "viewBox='0 0 300 100' width='100%' height='100%'",
        "viewBox='0 0 0 100' width='10em'",
        "width='-3' height='nonsense'",
        "width='1e9' height='5'",
        "width='200000' height='100000'",
        "data-width='7' width='8' height='9'/",
        "width='8' height='9' width='10'",
        "",
        "width=8",
        "width='8",
    ];
    let files: Vec<(&str, Vec<u8>)> = attributes.iter().map(|text| (*text, root(text))).collect();
    check(
        &files,
        expect![[r#"
        width='30' height='20': Svg 30x20 Rgb 8 alpha lossless
        width="30px"
         height = "20.4px" xmlns='http://www.w3.org/2000/svg': Svg 30x20 Rgb 8 alpha lossless
        height='1in' width='72pt': Svg 96x96 Rgb 8 alpha lossless
        width='25.4mm' height='2.54cm': Svg 96x96 Rgb 8 alpha lossless
        width='1pc' height='0.4': Svg 16x1 Rgb 8 alpha lossless
        viewBox='0 0 300 100': Svg 300x100 Rgb 8 alpha lossless
        viewBox='0,0,300,100' width='60': Svg 60x20 Rgb 8 alpha lossless
        viewBox='-5 -5 300 100' height='60': Svg 180x60 Rgb 8 alpha lossless
        viewBox='0 0 300 100' width='100%' height='100%': Svg 300x100 Rgb 8 alpha lossless
        viewBox='0 0 0 100' width='10em': Svg 100x100 Rgb 8 alpha lossless
        width='-3' height='nonsense': Svg 100x100 Rgb 8 alpha lossless
        width='1e9' height='5': Svg 100x5 Rgb 8 alpha lossless
        width='200000' height='100000': Svg 16384x8192 Rgb 8 alpha lossless
        data-width='7' width='8' height='9'/: Svg 8x9 Rgb 8 alpha lossless
        width='8' height='9' width='10': Svg 10x9 Rgb 8 alpha lossless
        : Svg 100x100 Rgb 8 alpha lossless
        width=8: Svg 1x1 Rgb 8 alpha lossless unsupported:Vector
        width='8: Svg 1x1 Rgb 8 alpha lossless unsupported:Vector
    "#]],
    );
}

#[test]
fn drawings_that_are_not_rendered() {
    let long = root(&format!("id='{}' width='8' height='9'", "i".repeat(5_000)));
    let drawing = root("width='8' height='9'");
    let mut text = b"<svg/> in a text".to_vec();
    text.insert(0, b'a');
    check(
        &[
            ("long root element", long),
            ("svgz", packed(&drawing)),
            ("svgz, cut off", packed(&drawing)[..60].to_vec()),
            ("gzip of a text", packed(&text)),
            ("gzip of nothing", packed(b"")),
            ("gzip of a svgz", packed(&packed(&drawing))),
        ],
        expect![[r#"
            long root element: Svg 1x1 Rgb 8 alpha lossless unsupported:Vector
            svgz: Svgz 8x9 Rgb 8 alpha lossless
            svgz, cut off: Svgz 1x1 Rgb 8 alpha lossless unsupported:Vector
            gzip of a text: Unknown: not a picture
            gzip of nothing: Unknown: not a picture
            gzip of a svgz: Unknown: not a picture
        "#]],
    );
    let len_bytes = crate::SVG_BYTES_MAX;
    let of = |len_bytes| probe(&Sparse::new(&drawing, len_bytes), len_bytes).expect("a drawing");
    assert_eq!(of(len_bytes).unsupported, None);
    assert_eq!(of(len_bytes + 1).unsupported, Some(Unsupported::Vector));
}
