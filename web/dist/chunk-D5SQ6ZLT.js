import{I as n}from"./chunk-MZ5NB5HT.js";function t(e){return e instanceof Error&&e.message?e.message:n("error.unreachable")}export{t as a};
