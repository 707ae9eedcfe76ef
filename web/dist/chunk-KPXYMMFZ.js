import{H as n}from"./chunk-IYIPUKSJ.js";function t(e){return e instanceof Error&&e.message?e.message:n("error.unreachable")}export{t as a};
