//! Parameters of the effects.

use super::*;

#[test]
fn filters() {
    check(
        "blur=1.5
         blur=0
         blur=0.00
         blur=250
         blur=250.01
         blur=-1
         blur=0.001
         blur=
         blur=1e2
         blur=NaN
         w=9&dpr=2&blur=1.25
         w=9&dpr=8&blur=40
         sharpen=1
         sharpen=0.5,0.75
         unsharp=0.5,0.75,0
         unsharp=2,1.50,255
         sharpen=0
         sharpen=3,0
         unsharp=0,1,3
         sharpen=1,2,3
         sharpen=1,11
         sharpen=251
         sharpen=,
         unsharp=1
         unsharp=1,2,256
         unsharp=1,2,-3
         sharpen=1&unsharp=1,2,3
         pixelate=8
         pixelate=0
         pixelate=1
         pixelate=1001
         pixelate=2.5
         w=9&dpr=1.5&pixelate=3",
        expect![[r#"
            blur=1.5 -> blur=1.5
            blur=0 -> 
            blur=0.00 -> 
            blur=250 -> blur=250
            blur=250.01 -> Value: blur: must be a number from 0 to 250 with at most 2 decimals
            blur=-1 -> Value: blur: must be a number from 0 to 250 with at most 2 decimals
            blur=0.001 -> Value: blur: must be a number from 0 to 250 with at most 2 decimals
            blur= -> Value: blur: must be a number from 0 to 250 with at most 2 decimals
            blur=1e2 -> Value: blur: must be a number from 0 to 250 with at most 2 decimals
            blur=NaN -> Value: blur: must be a number from 0 to 250 with at most 2 decimals
            w=9&dpr=2&blur=1.25 -> w=18&blur=2.5
            w=9&dpr=8&blur=40 -> Value: blur: is too large after multiplication by dpr
            sharpen=1 -> unsharp=1,1,0
            sharpen=0.5,0.75 -> unsharp=0.5,0.75,0
            unsharp=0.5,0.75,0 -> unsharp=0.5,0.75,0
            unsharp=2,1.50,255 -> unsharp=2,1.5,255
            sharpen=0 -> 
            sharpen=3,0 -> 
            unsharp=0,1,3 -> 
            sharpen=1,2,3 -> Value: sharpen: must be SIGMA or SIGMA,AMOUNT: numbers with at most 2 decimals, the first at most 250, AMOUNT at most 10
            sharpen=1,11 -> Value: sharpen: must be SIGMA or SIGMA,AMOUNT: numbers with at most 2 decimals, the first at most 250, AMOUNT at most 10
            sharpen=251 -> Value: sharpen: must be SIGMA or SIGMA,AMOUNT: numbers with at most 2 decimals, the first at most 250, AMOUNT at most 10
            sharpen=, -> Value: sharpen: must be SIGMA or SIGMA,AMOUNT: numbers with at most 2 decimals, the first at most 250, AMOUNT at most 10
            unsharp=1 -> Value: unsharp: must be RADIUS,AMOUNT,THRESHOLD: numbers with at most 2 decimals, the first at most 250, AMOUNT at most 10 and THRESHOLD at most 255
            unsharp=1,2,256 -> Value: unsharp: must be RADIUS,AMOUNT,THRESHOLD: numbers with at most 2 decimals, the first at most 250, AMOUNT at most 10 and THRESHOLD at most 255
            unsharp=1,2,-3 -> Value: unsharp: must be RADIUS,AMOUNT,THRESHOLD: numbers with at most 2 decimals, the first at most 250, AMOUNT at most 10 and THRESHOLD at most 255
            sharpen=1&unsharp=1,2,3 -> Contradiction: sharpen: cannot be combined with unsharp
            pixelate=8 -> pixelate=8
            pixelate=0 -> 
            pixelate=1 -> 
            pixelate=1001 -> Value: pixelate: must be a whole number from 0 to 1000
            pixelate=2.5 -> Value: pixelate: must be a whole number from 0 to 1000
            w=9&dpr=1.5&pixelate=3 -> w=14&pixelate=5
        "#]],
    );
}

#[test]
fn colours() {
    check(
        "brightness=10
         brightness=-100
         brightness=300
         brightness=0
         brightness=-0
         brightness=-101
         brightness=301
         brightness=1.5
         brightness=--1
         brightness=-
         contrast=5&saturation=-7
         contrast=x
         saturation=400
         grayscale=true
         saturation=-100
         grayscale=0&saturation=3
         grayscale=1&saturation=3
         grayscale=50
         gamma=2.2
         gamma=1
         gamma=1.00
         gamma=0.09
         gamma=10.01
         gamma=-2
         sepia=1&invert=true
         sepia=yes
         bitonal=128
         bitonal=255&duotone=123,fed
         bitonal=0
         bitonal=256
         bitonal=true
         duotone=000,fff
         duotone=1F2E3D,white
         duotone=000
         duotone=000,fff8
         duotone=000,fff,fff
         duotone=%23000,fff",
        expect![[r#"
            brightness=10 -> brightness=10
            brightness=-100 -> brightness=-100
            brightness=300 -> brightness=300
            brightness=0 -> 
            brightness=-0 -> 
            brightness=-101 -> Value: brightness: must be a whole number from -100 to 300
            brightness=301 -> Value: brightness: must be a whole number from -100 to 300
            brightness=1.5 -> Value: brightness: must be a whole number from -100 to 300
            brightness=--1 -> Value: brightness: must be a whole number from -100 to 300
            brightness=- -> Value: brightness: must be a whole number from -100 to 300
            contrast=5&saturation=-7 -> contrast=5&saturation=-7
            contrast=x -> Value: contrast: must be a whole number from -100 to 300
            saturation=400 -> Value: saturation: must be a whole number from -100 to 300
            grayscale=true -> saturation=-100
            saturation=-100 -> saturation=-100
            grayscale=0&saturation=3 -> saturation=3
            grayscale=1&saturation=3 -> Contradiction: grayscale: cannot be combined with saturation
            grayscale=50 -> Value: grayscale: must be true or false
            gamma=2.2 -> gamma=2.2
            gamma=1 -> 
            gamma=1.00 -> 
            gamma=0.09 -> Value: gamma: must be a number from 0.1 to 10 with at most 2 decimals
            gamma=10.01 -> Value: gamma: must be a number from 0.1 to 10 with at most 2 decimals
            gamma=-2 -> Value: gamma: must be a number from 0.1 to 10 with at most 2 decimals
            sepia=1&invert=true -> sepia=true&invert=true
            sepia=yes -> Value: sepia: must be true or false
            bitonal=128 -> bitonal=128
            bitonal=255&duotone=123,fed -> bitonal=255&duotone=112233,ffeedd
            bitonal=0 -> Value: bitonal: must be a whole number from 1 to 255
            bitonal=256 -> Value: bitonal: must be a whole number from 1 to 255
            bitonal=true -> Value: bitonal: must be a whole number from 1 to 255
            duotone=000,fff -> duotone=000000,ffffff
            duotone=1F2E3D,white -> duotone=1f2e3d,ffffff
            duotone=000 -> Value: duotone: must be two colours, which replace black and white, such as 1f2e3d,ffeedd
            duotone=000,fff8 -> Value: duotone: must be two colours, which replace black and white, such as 1f2e3d,ffeedd
            duotone=000,fff,fff -> Value: duotone: must be two colours, which replace black and white, such as 1f2e3d,ffeedd
            duotone=%23000,fff -> Value: duotone: must be two colours, which replace black and white, such as 1f2e3d,ffeedd
        "#]],
    );
}

#[test]
fn frames() {
    check(
        "bg=fff
         bg=FFFFFF
         bg=white
         bg=f80c
         bg=ff8800cc
         bg=transparent
         bg=12345600
         bg=ff
         bg=fffff
         bg=red
         bg=%23fff
         pad=10
         pad=0
         pad=1,2
         pad=1,2,3
         pad=1,2,3,4
         pad=5,5,5,5
         pad=1,2,3,4,5
         pad=16385
         pad=-1
         pad=1,,2
         w=9&pad=3,5&dpr=1.5
         round=12
         round=0
         round=max
         round=16385
         w=9&dpr=2&round=9000
         w=9&kernel=nearest
         width=9&kernel=cubic
         h=9&kernel=linear
         h=9&kernel=lanczos3
         kernel=linear
         w=9&kernel=mitchell",
        expect![[r#"
            bg=fff -> bg=ffffff
            bg=FFFFFF -> bg=ffffff
            bg=white -> bg=ffffff
            bg=f80c -> bg=ff8800cc
            bg=ff8800cc -> bg=ff8800cc
            bg=transparent -> bg=00000000
            bg=12345600 -> bg=00000000
            bg=ff -> Value: bg: must be a colour: 3, 4, 6 or 8 hexadecimal digits (f80, ff8800, ff880080), white, black or transparent
            bg=fffff -> Value: bg: must be a colour: 3, 4, 6 or 8 hexadecimal digits (f80, ff8800, ff880080), white, black or transparent
            bg=red -> Value: bg: must be a colour: 3, 4, 6 or 8 hexadecimal digits (f80, ff8800, ff880080), white, black or transparent
            bg=%23fff -> Value: bg: must be a colour: 3, 4, 6 or 8 hexadecimal digits (f80, ff8800, ff880080), white, black or transparent
            pad=10 -> pad=10
            pad=0 -> 
            pad=1,2 -> pad=1,2,1,2
            pad=1,2,3 -> pad=1,2,3,2
            pad=1,2,3,4 -> pad=1,2,3,4
            pad=5,5,5,5 -> pad=5
            pad=1,2,3,4,5 -> Value: pad: must be 1 to 4 whole numbers up to 16384, in the order top, right, bottom, left
            pad=16385 -> Value: pad: must be 1 to 4 whole numbers up to 16384, in the order top, right, bottom, left
            pad=-1 -> Value: pad: must be 1 to 4 whole numbers up to 16384, in the order top, right, bottom, left
            pad=1,,2 -> Value: pad: must be 1 to 4 whole numbers up to 16384, in the order top, right, bottom, left
            w=9&pad=3,5&dpr=1.5 -> w=14&pad=5,8,5,8
            round=12 -> round=12
            round=0 -> 
            round=max -> round=16384
            round=16385 -> Value: round: must be a whole number from 0 to 16384
            w=9&dpr=2&round=9000 -> Value: round: is too large after multiplication by dpr
            w=9&kernel=nearest -> w=9&kernel=nearest
            width=9&kernel=cubic -> w=9&kernel=cubic
            h=9&kernel=linear -> h=9&kernel=linear
            h=9&kernel=lanczos3 -> h=9
            kernel=linear -> Contradiction: kernel: needs w or h
            w=9&kernel=mitchell -> Value: kernel: must be nearest, linear, cubic or lanczos3
        "#]],
    );
}

#[test]
fn the_order_in_the_query_has_no_effect() {
    check(
        "q=50&round=3&bg=f00&pad=1&pixelate=4&sharpen=1&blur=2&invert=1&sepia=1&w=9&rotate=1&gamma=2&flop=1",
        expect![[r#"
            q=50&round=3&bg=f00&pad=1&pixelate=4&sharpen=1&blur=2&invert=1&sepia=1&w=9&rotate=1&gamma=2&flop=1 -> rotate=1&flop=true&w=9&gamma=2&sepia=true&invert=true&blur=2&unsharp=1,1,0&pixelate=4&pad=1&bg=ff0000&round=3&q=50
        "#]],
    );
}

#[test]
fn webp_server_go_ignores_invalid_effects() {
    check_by(
        Grammar::WebpServerGo,
        "width=20&blur=x&round=-1
         width=20&grayscale=1&saturation=5
         sharpen=1&unsharp=1,1,1
         kernel=linear
         w=9&dpr=8&pad=9000&bg=black",
        expect![[r#"
            width=20&blur=x&round=-1 -> w=20
            width=20&grayscale=1&saturation=5 -> w=20&saturation=5
            sharpen=1&unsharp=1,1,1 -> unsharp=1,1,1
            kernel=linear -> 
            w=9&dpr=8&pad=9000&bg=black -> w=72&bg=000000
        "#]],
    );
}
