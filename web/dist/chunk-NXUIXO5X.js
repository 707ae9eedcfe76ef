import{G as n}from"./chunk-N33TIEY4.js";function t(e){return e instanceof Error&&e.message?e.message:n("error.unreachable")}export{t as a};
