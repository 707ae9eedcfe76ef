import{G as n}from"./chunk-XVOVCNFE.js";function t(e){return e instanceof Error&&e.message?e.message:n("error.unreachable")}export{t as a};
