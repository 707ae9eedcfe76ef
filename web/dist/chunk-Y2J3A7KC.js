import{G as n}from"./chunk-FBKN5CXF.js";function t(e){return e instanceof Error&&e.message?e.message:n("error.unreachable")}export{t as a};
