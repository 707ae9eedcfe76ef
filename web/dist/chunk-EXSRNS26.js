<<<<<<< HEAD:web/dist/chunk-XXJTI2MF.js
<<<<<<< HEAD:web/dist/chunk-ZIM7Y4K4.js
<<<<<<< HEAD:web/dist/chunk-72C4NOFX.js
<<<<<<< HEAD:web/dist/chunk-FFSNGJ2H.js
<<<<<<< HEAD:web/dist/chunk-LPQVER3Y.js
<<<<<<<< HEAD:web/dist/chunk-MANA7GWV.js
import{F as l,M as r,c as n,i as e}from"./chunk-YBLDFUCM.js";var i="music.queue",a=e(c()),o=e(null);function c(){try{return localStorage.getItem(`pelton.${i}`)?.includes('"file"')??!1}catch{return!1}}function d(){n(()=>a.subscribe(s=>{s&&!o.peek()&&Promise.all([import("./player-bar-M74LVHXT.js"),l("music")]).then(([u])=>o.value=u.default,()=>a.value=!1)}),[]);let t=o.value;return t?r(t,{}):null}export{i as a,a as b,d as c};
========
import{F as l,M as r,c as n,i as e}from"./chunk-HTE2SIVZ.js";var i="music.queue",a=e(c()),o=e(null);function c(){try{return localStorage.getItem(`pelton.${i}`)?.includes('"file"')??!1}catch{return!1}}function d(){n(()=>a.subscribe(s=>{s&&!o.peek()&&Promise.all([import("./player-bar-DXJOTIMH.js"),l("music")]).then(([u])=>o.value=u.default,()=>a.value=!1)}),[]);let t=o.value;return t?r(t,{}):null}export{i as a,a as b,d as c};
>>>>>>>> 0bbe56ca (library-api: a removed or moved track is checked against the track that the client names):web/dist/chunk-LPQVER3Y.js
=======
import{F as l,M as r,c as n,i as e}from"./chunk-HTE2SIVZ.js";var i="music.queue",a=e(c()),o=e(null);function c(){try{return localStorage.getItem(`pelton.${i}`)?.includes('"file"')??!1}catch{return!1}}function d(){n(()=>a.subscribe(s=>{s&&!o.peek()&&Promise.all([import("./player-bar-RNTSRZRK.js"),l("music")]).then(([u])=>o.value=u.default,()=>a.value=!1)}),[]);let t=o.value;return t?r(t,{}):null}export{i as a,a as b,d as c};
>>>>>>> 47994972 (web: the id of a playlist is escaped in targets of the API):web/dist/chunk-FFSNGJ2H.js
=======
import{F as l,M as r,c as n,i as e}from"./chunk-HTE2SIVZ.js";var i="music.queue",a=e(c()),o=e(null);function c(){try{return localStorage.getItem(`pelton.${i}`)?.includes('"file"')??!1}catch{return!1}}function d(){n(()=>a.subscribe(s=>{s&&!o.peek()&&Promise.all([import("./player-bar-W5NHJ6J7.js"),l("music")]).then(([u])=>o.value=u.default,()=>a.value=!1)}),[]);let t=o.value;return t?r(t,{}):null}export{i as a,a as b,d as c};
>>>>>>> 2c1f17ab (web: the name of a playlist is as long as the server allows):web/dist/chunk-72C4NOFX.js
=======
import{F as l,M as r,c as n,i as e}from"./chunk-HTE2SIVZ.js";var i="music.queue",a=e(c()),o=e(null);function c(){try{return localStorage.getItem(`pelton.${i}`)?.includes('"file"')??!1}catch{return!1}}function d(){n(()=>a.subscribe(s=>{s&&!o.peek()&&Promise.all([import("./player-bar-ILU5SDNC.js"),l("music")]).then(([u])=>o.value=u.default,()=>a.value=!1)}),[]);let t=o.value;return t?r(t,{}):null}export{i as a,a as b,d as c};
>>>>>>> 19f29b5e (web: all playlists are listed, and can be chosen, not only the first 500):web/dist/chunk-ZIM7Y4K4.js
=======
import{F as l,M as r,c as n,i as e}from"./chunk-C2YSMHTX.js";var i="music.queue",a=e(c()),o=e(null);function c(){try{return localStorage.getItem(`pelton.${i}`)?.includes('"file"')??!1}catch{return!1}}function d(){n(()=>a.subscribe(s=>{s&&!o.peek()&&Promise.all([import("./player-bar-TFQ7E7QL.js"),l("music")]).then(([u])=>o.value=u.default,()=>a.value=!1)}),[]);let t=o.value;return t?r(t,{}):null}export{i as a,a as b,d as c};
>>>>>>> 9c223bdf (web: many tracks are added to a playlist by one request):web/dist/chunk-XXJTI2MF.js
=======
import{F as l,M as r,c as n,i as e}from"./chunk-C2YSMHTX.js";var i="music.queue",a=e(c()),o=e(null);function c(){try{return localStorage.getItem(`pelton.${i}`)?.includes('"file"')??!1}catch{return!1}}function d(){n(()=>a.subscribe(s=>{s&&!o.peek()&&Promise.all([import("./player-bar-PWQ3UKGI.js"),l("music")]).then(([u])=>o.value=u.default,()=>a.value=!1)}),[]);let t=o.value;return t?r(t,{}):null}export{i as a,a as b,d as c};
>>>>>>> 9286410f (web: a playlist that is loaded again keeps the changes made meanwhile):web/dist/chunk-EXSRNS26.js
