import{I as n}from"./chunk-6ERABJXV.js";function t(e){return e instanceof Error&&e.message?e.message:n("error.unreachable")}export{t as a};
