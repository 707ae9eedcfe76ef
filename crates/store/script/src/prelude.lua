-- Environment of all scripts and functions. Gets a table of functions that Rust implements. Returns a
-- table with the function `run`, which runs a script or calls a function; the environment, its contents
-- and its metatable; and the globals that a library of functions sees while it is loaded.

local native = ...
local error, getmetatable, next, pcall, rawget, rawset, setmetatable, tostring, type, xpcall =
  error, getmetatable, next, pcall, rawget, rawset, setmetatable, tostring, type, xpcall
local select, tonumber, unpack = select, tonumber, unpack
local caught, plain, place = native.caught, native.plain, native.place
local coroutine_create, coroutine_resume = coroutine.create, coroutine.resume
local concat, insert = table.concat, table.insert
local find = native.find

-- Contents of the read-only tables, by the table that scripts see. Such a table is empty itself.
local contents = {}

local function refuse_write()
  error("Attempt to modify a readonly table", 2)
end

-- Read-only table that scripts see as the metatable of each read-only table.
local shown_metatable = {}
contents[shown_metatable] = {}
setmetatable(shown_metatable, {__newindex = refuse_write, __metatable = shown_metatable})

-- Returns a read-only table with these contents.
local function protect(content)
  local proxy = {}
  contents[proxy] = content
  local metatable = {__index = content, __newindex = refuse_write, __metatable = shown_metatable}
  return setmetatable(proxy, metatable)
end

-- Errors. After SCRIPT KILL, `caught` raises another error, so that no script outlives it.

local function settle(ok, ...)
  if ok then
    return true, ...
  end
  return false, caught((...))
end

local function propagate(ok, ...)
  if ok then
    return ...
  end
  error(caught((...)), 0)
end

local function handle_error(raised)
  local err = plain(raised)
  if type(err) ~= "table" then
    err = {err = "ERR " .. tostring(err)}
  end
  local source, line = place()
  local is_counted = rawget(err, "ignore_error_stats_update")
  return {err = rawget(err, "err"), source = source, line = line, ignore_error_stats_update = is_counted}
end

-- Runs a script, or calls a function of a library with its two arguments.
local function run(code, keys, args)
  if not keys then
    return xpcall(code, handle_error)
  end
  return xpcall(function()
    return code(keys, args)
  end, handle_error)
end

local globals = {
  _VERSION = _VERSION,
  assert = assert, error = error, getmetatable = getmetatable, gcinfo = gcinfo, ipairs = ipairs,
  rawequal = rawequal, rawget = rawget, select = select, tonumber = tonumber, tostring = tostring,
  type = type,
}

-- As in Redis, `pcall` returns the text of an error reply instead of its table.
local function settle_text(ok, ...)
  if ok then
    return true, ...
  end
  local err = caught((...))
  if type(err) == "table" and type(rawget(err, "err")) == "string" then
    err = rawget(err, "err")
  end
  return false, err
end

function globals.pcall(...)
  return settle_text(pcall(...))
end

function globals.xpcall(f, handler)
  return settle(xpcall(f, function(raised)
    return handler(caught(raised))
  end))
end

-- Only the functions of the collector that change nothing for the scripts that follow.
local collectgarbage = collectgarbage
function globals.collectgarbage(option, argument)
  if option == nil or option == "collect" or option == "count" or option == "step" then
    return collectgarbage(option, argument)
  end
  return 0
end

-- Tables

function globals.next(t, key)
  return next(contents[t] or t, key)
end

function globals.pairs(t)
  return next, contents[t] or t, nil
end

function globals.rawget(t, key)
  return rawget(contents[t] or t, key)
end

function globals.rawset(t, key, value)
  if contents[t] then
    error("Attempt to modify a readonly table", 0)
  end
  return rawset(t, key, value)
end

function globals.setmetatable(t, metatable)
  if contents[t] then
    error("Attempt to modify a readonly table", 0)
  end
  return setmetatable(t, metatable)
end

local RESULTS_MAX = 7000

function globals.unpack(t, first, last)
  local from, to = tonumber(first or 1), tonumber(last or #t)
  if from and to and RESULTS_MAX <= to - from then
    error("too many results to unpack", 2)
  end
  return unpack(t, first or 1, last or #t)
end

local function protected_copy(library, changes)
  local copy = {}
  for name, value in next, library do
    copy[name] = value
  end
  for name, value in next, changes do
    copy[name] = value or nil
  end
  return protect(copy)
end

globals.table = protected_copy(table, {
  -- The loop of Lua's own function over the positions has no bounds.
  insert = function(t, ...)
    if contents[t] then
      error("Attempt to modify a readonly table", 0)
    end
    if select("#", ...) == 2 then
      local at = tonumber((...))
      if at and (at < 1 or #t + 1 < at) then
        error("bad argument #2 to 'insert' (position out of bounds)", 2)
      end
    end
    return insert(t, ...)
  end,
})

-- Code

local function load_text(text, name)
  if type(text) ~= "string" then
    error("bad argument #1 to 'loadstring' (string expected)", 3)
  end
  return native.load(text, name or text)
end

function globals.loadstring(text, name)
  return load_text(text, name)
end

function globals.load(reader, name)
  local pieces = {}
  while true do
    local ok, piece = settle(pcall(reader))
    if not ok then
      return nil, piece
    end
    if piece == nil or piece == "" then
      break
    end
    if type(piece) ~= "string" then
      return nil, "reader function must return a string"
    end
    pieces[#pieces + 1] = piece
  end
  return load_text(concat(pieces), name or "=(load)")
end

-- Coroutines

globals.coroutine = protected_copy(coroutine, {
  resume = function(...)
    return settle(coroutine_resume(...))
  end,
  wrap = function(f)
    local thread = coroutine_create(f)
    return function(...)
      return propagate(coroutine_resume(thread, ...))
    end
  end,
})

-- Strings. The functions that match patterns are in Rust, where the caller can interrupt them.

-- `gsub` for a replacement that is a function or a table.
local function substitute(text, pattern, replacement, count_max)
  local pieces, count, at = {}, 0, 1
  local is_function = type(replacement) == "function"
  local anchored = pattern:sub(1, 1) == "^"
  if anchored then
    pattern = pattern:sub(2)
  end

  -- Gets the first and last position of a match, and its captures. Returns whether to go on.
  local function step(from, to, first, ...)
    if not from then
      return false
    end
    pieces[#pieces + 1] = text:sub(at, from - 1)
    local value
    if is_function then
      value = replacement(first, ...)
    else
      value = replacement[first]
    end
    if not value then
      value = text:sub(from, to)
    elseif type(value) ~= "string" and type(value) ~= "number" then
      error("invalid replacement value (a " .. type(value) .. ")", 4)
    end
    pieces[#pieces + 1] = value
    count = count + 1
    at = to + 1
    if to < from then
      -- After an empty match, the next character is copied.
      pieces[#pieces + 1] = text:sub(at, at)
      at = at + 1
    end
    return at <= #text + 1 and not anchored
  end

  while count < count_max and step(native.next_match(text, pattern, at, anchored)) do
  end
  pieces[#pieces + 1] = text:sub(at)
  return concat(pieces), count
end

local function gsub(text, pattern, replacement, count)
  local kind = type(replacement)
  if kind ~= "function" and kind ~= "table" then
    return native.gsub(text, pattern, replacement, count)
  end
  if type(text) == "number" then
    text = tostring(text)
  end
  if type(text) ~= "string" or (type(pattern) ~= "string" and type(pattern) ~= "number") then
    error("bad argument to 'gsub' (string expected)", 2)
  end
  return substitute(text, tostring(pattern), replacement, tonumber(count) or #text + 1)
end

local function gmatch(text, pattern)
  text, pattern = tostring(text), tostring(pattern)
  local at = 1
  local function step(from, to, ...)
    if from then
      at = to < from and from + 1 or to + 1
      return ...
    end
    at = #text + 2
  end
  return function()
    if #text + 1 < at then
      return nil
    end
    return step(native.next_match(text, pattern, at))
  end
end

globals.string = protected_copy(string, {
  dump = false, find = find, match = native.match, rep = native.rep, gmatch = gmatch, gfind = gmatch,
  gsub = gsub,
})

-- Methods of strings, as in ("x"):rep(3), are looked up in this table.
local string_metatable = getmetatable("")
string_metatable.__index = globals.string
string_metatable.__metatable = false

-- Libraries

globals.math = protected_copy(math, {random = native.random, randomseed = native.randomseed})
globals.os = protect({clock = native.clock})
globals.redis = protect(native.redis)
for _, name in next, {"cjson", "cmsgpack", "bit", "struct"} do
  if native[name] then
    globals[name] = protect(native[name])
  end
end

-- Globals

local function missing(_, name)
  error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end

-- KEYS and ARGV exist only while a script runs.
setmetatable(globals, {__index = missing})
local environment_metatable = {
  __index = globals, __newindex = refuse_write, __metatable = shown_metatable,
}
local environment = setmetatable({}, environment_metatable)
contents[environment] = globals
globals._G = environment

-- What a library of functions sees while it is loaded: a smaller library `redis`, and nothing else.

local load_redis = {register_function = native.register_function, log = native.redis.log}
for name, value in next, native.redis do
  if type(value) ~= "function" then
    load_redis[name] = value
  end
end
setmetatable(load_redis, {__index = missing})
local load_globals = setmetatable({redis = protect(load_redis)}, {__index = missing})

return {
  environment = environment, environment_metatable = environment_metatable, globals = globals,
  load_globals = load_globals, run = run,
}
