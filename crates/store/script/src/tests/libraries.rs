//! Tests of the libraries.

use expect_test::expect;

use super::check;

#[test]
fn patterns_match_as_in_lua() {
    check(
        "local r = {} local function add(...) for i = 1, select('#', ...) do r[#r + 1] = tostring((select(i, ...))) end end \
         add(('hello world'):find('o w')) add(('hello world'):find('l+')) add(('hello'):find('')) add(('hello'):find('l', 10)) \
         add(('a.b'):find('.', 2, true)) add(('key=value'):match('(%w+)=(%w+)')) add(('  trim  '):match('^%s*(.-)%s*$')) \
         add(('f(a(b)c)d'):match('%b()')) add(('THE (quick) fox'):find('%((%a+)%)')) add(('hello'):match('()ll()')) \
         add(('abcabc'):match('(a)(b)c%1%2')) add(('THE (quick) fox'):gsub('%f[%a]%a+', 'w')) \
         return table.concat(r, ',')",
        expect![[r#""5,7,3,4,1,0,nil,2,2,key,value,trim,(a(b)c),5,11,quick,3,5,a,b,w (w) w,3""#]],
    );
}

#[test]
fn gsub_replaces_as_in_lua() {
    check(
        "local r = {} local function add(...) for i = 1, select('#', ...) do r[#r + 1] = tostring((select(i, ...))) end end \
         add(('hello'):gsub('l', 'L')) add(('hello'):gsub('', '-')) add(('hello'):gsub('l', {l = 1})) add(('hello'):gsub('x*', '-')) \
         add(('abc'):gsub('%w', '%0%0', 2)) add(('abc'):gsub('^a', 'x')) add(('aaa'):gsub('^a', function() return 'x' end)) \
         add(('hello world'):gsub('(%w+) (%w+)', '%2 %1')) add(('$name is'):gsub('%$(%w+)', function(k) return k:upper() end)) \
         add(('abc'):gsub('b', function() return nil end)) add(('x'):gsub('x*', function(m) return '<' .. m .. '>' end)) \
         return table.concat(r, ',')",
        expect![[
            r#""heLLo,2,-h-e-l-l-o-,6,he11o,2,-h-e-l-l-o-,6,aabbc,2,xbc,1,xaa,1,world hello,1,NAME is,1,abc,1,<x><>,2""#
        ]],
    );
    check(
        "local r = {} for k, v in ('a=1, b=2'):gmatch('(%w+)=(%w+)') do r[#r + 1] = k .. v end \
         for w in ('one two'):gmatch('%a+') do r[#r + 1] = w end return r",
        expect![[r#"["a1" "b2" "one" "two"]"#]],
    );
    check(
        "return ('x'):gsub('x', '%2')",
        expect!["-ERR invalid capture index"],
    );
    check(
        "return ('x'):find('[a')",
        expect![[
            r#"-ERR user_script:1: malformed pattern (missing ']') script: a231309bf20f755e74b4cd17a7fd93e4ef78c243, on @user_script:1."#
        ]],
    );
    check(
        "return ('x'):find('%')",
        expect![[
            r#"-ERR user_script:1: malformed pattern (ends with '%') script: 1ac5fecfb02de7153564e6020fe4ac694b911699, on @user_script:1."#
        ]],
    );
    check(
        "return ('x'):find('(x')",
        expect![[
            r#"-ERR user_script:1: unfinished capture script: c2ae2ea4254b9da6cca7367846e97e04955cd091, on @user_script:1."#
        ]],
    );
}

#[test]
fn json_is_that_of_cjson() {
    check(
        "return cjson.encode({1, 2.5, 'a\"b/\\n', true, cjson.null, {}, {x = 1}, 1e20, 0.1})",
        expect![[r#""[1,2.5,\"a\\\"b\\/\\n\",true,null,{},{\"x\":1},1e+20,0.1]""#]],
    );
    check(
        "local v = cjson.decode('{\"a\": [1, 2.5, \"x\\\\u00e9\\\\ud83d\\\\ude00\"], \"b\": null, \"c\": false}') \
         return {v.a[1], tostring(v.a[2]), v.a[3], tostring(v.b == cjson.null), tostring(v.c)}",
        expect![[r#"[1 "2.5" "xé😀" "true" "false"]"#]],
    );
    check(
        "return cjson.encode({[1] = 1, [100] = 2})",
        expect![[
            r#"-ERR user_script:1: Cannot serialise table: excessively sparse array script: 68d1edcb4f808f5aa334a40eba3b44e4dbe68a01, on @user_script:1."#
        ]],
    );
    check(
        "return cjson.encode({[1] = 1, [3] = 2})",
        expect![[r#""[1,null,2]""#]],
    );
    check(
        "return cjson.decode('{')",
        expect![[
            r#"-ERR user_script:1: Expected object key string but found T_END at character 2 script: 6c60bbb22c4b71b0415e4e539d6dc66cc27df21d, on @user_script:1."#
        ]],
    );
    check(
        "return cjson.decode('[1, 2')",
        expect![[
            r#"-ERR user_script:1: Expected comma or array end but found T_END at character 6 script: a87430a9e29447277f5d1aae01de1c82edc6d332, on @user_script:1."#
        ]],
    );
    check(
        "return cjson.decode('nonsense')",
        expect![[
            r#"-ERR user_script:1: Expected value but found invalid token at character 1 script: 572127851e4eb62868dd227ffe1d9abcb068f9f1, on @user_script:1."#
        ]],
    );
    check(
        "return cjson.encode(function() end)",
        expect![[
            r#"-ERR user_script:1: Cannot serialise function: type not supported script: c6600573aa08cdf0af5da6e0ef682db69a3acc00, on @user_script:1."#
        ]],
    );
}

#[test]
fn message_pack_goes_both_ways() {
    check(
        "local function hex(s) return (s:gsub('.', function(c) return ('%02x'):format(c:byte()) end)) end \
         return {hex(cmsgpack.pack(1, -1, 200, 70000, -200, 1.5, 0.1)), hex(cmsgpack.pack('a', true, nil)), \
                 hex(cmsgpack.pack({1, 2}, {x = 1}, {}))}",
        expect![[
            r#"["01ffccc8ce00011170d1ff38ca3fc00000cb3fb999999999999a" "a161c3c0" "92010281a1780190"]"#
        ]],
    );
    check(
        "local a, b, c = cmsgpack.unpack(cmsgpack.pack({1, {k = 'v'}}, -70000, 2 ^ 40)) return {a[1], a[2].k, b, c}",
        expect![[r#"[1 "v" -70000 1099511627776]"#]],
    );
    check(
        "return {cmsgpack.unpack_one(cmsgpack.pack(5, 6))}",
        expect![[r#"[1 5]"#]],
    );
    check(
        "return {cmsgpack.unpack_limit(cmsgpack.pack(5, 6, 7), 2, 1)}",
        expect![[r#"[-1 6 7]"#]],
    );
    check(
        "return cmsgpack.unpack('\\221')",
        expect![[
            r#"-ERR user_script:1: Missing bytes in input. script: 7b2e081016ea3e22cc119c14638786243c8dde32, on @user_script:1."#
        ]],
    );
}

#[test]
fn bits_are_those_of_lua_bit_op() {
    check(
        "return {bit.band(255, 15), bit.bor(1, 2, 4), bit.bxor(5, 1), bit.bnot(0), bit.lshift(1, 31), bit.rshift(-1, 28), \
         bit.arshift(-8, 1), bit.rol(0x12345678, 8), bit.bswap(1), bit.tobit(2 ^ 32 + 5), bit.tohex(255), bit.tohex(255, -4)}",
        expect![[r#"[15 7 4 -1 -2147483648 15 -4 878082066 16777216 5 "000000ff" "00FF"]"#]],
    );
}

#[test]
fn structures_go_both_ways() {
    check(
        "local s = struct.pack('>I2i4sc3', 258, -2, 'hi', 'xyz') local a, b, c, d, at = struct.unpack('>I2i4sc3', s) \
         return {#s, a, b, c, d, at, struct.size('!4 bi4'), s:byte(1), s:byte(2)}",
        expect![[r#"[12 258 -2 "hi" "xyz" 13 8 1 2]"#]],
    );
    check(
        "return struct.unpack('>I4', 'abc')",
        expect![[
            r#"-ERR user_script:1: bad argument #2 to 'unpack' (data string too short) script: 0a74234869b703f9dcd040a1f5ee83f7abdee6f9, on @user_script:1."#
        ]],
    );
    check(
        "return struct.pack('I100', 1)",
        expect![[
            r#"-ERR user_script:1: integral size 100 is larger than limit of 32 script: 75146fa0f86a67482503d26810a0686f59011bd0, on @user_script:1."#
        ]],
    );
}

#[test]
fn tables_and_code_work_as_in_lua() {
    check(
        "local t = {3, 1, 2} table.sort(t) table.insert(t, 4) table.insert(t, 1, 0) \
         return {table.concat(t, ','), table.remove(t), #t, select('#', unpack(t)), tostring(next({})), tonumber('0x10')}",
        expect![[r#"["0,1,2,3,4" 4 4 4 "nil" 16]"#]],
    );
    check("return {loadstring('return 1 + 1')()}", expect![[r#"[2]"#]]);
    check(
        "local n = 0 return {load(function() n = n + 1 return ({'return ', '5'})[n] end)()}",
        expect![[r#"[5]"#]],
    );
    check(
        "local co = coroutine.create(function(a) local b = coroutine.yield(a + 1) return b * 2 end) \
         local _, x = coroutine.resume(co, 1) local _, y = coroutine.resume(co, 10) return {x, y, coroutine.status(co)}",
        expect![[r#"[2 20 "dead"]"#]],
    );
    check(
        "return {pcall(error, {code = 5})}",
        expect![[r#"[nil []]"#]],
    );
    check(
        "return {math.random(10), math.random(10), math.random(10)}",
        expect!["[4 9 4]"],
    );
    check("return tostring(os.clock())", expect![[r#""1.5""#]]);
    check(
        "return redis.sha1hex('')",
        expect![[r#""da39a3ee5e6b4b0d3255bfef95601890afd80709""#]],
    );
    check(
        "return {redis.LOG_WARNING, redis.REPL_ALL, redis.REDIS_VERSION}",
        expect![[r#"[3 3 "7.2.4"]"#]],
    );
}
