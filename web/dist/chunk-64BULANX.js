import{H as n}from"./chunk-JY64MVTH.js";function t(e){return e instanceof Error&&e.message?e.message:n("error.unreachable")}export{t as a};
