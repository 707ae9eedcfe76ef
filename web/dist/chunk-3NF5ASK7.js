import{H as n}from"./chunk-VVDREKFS.js";function t(e){return e instanceof Error&&e.message?e.message:n("error.unreachable")}export{t as a};
