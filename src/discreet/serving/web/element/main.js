/** What discreet.js gives to a page: the element, and the device without one. */

import { openDevice } from "../device/device.js";
import { DiscreetFrontPage } from "./front_page.js";

if (globalThis.customElements && !customElements.get("discreet-front-page")) customElements.define("discreet-front-page", DiscreetFrontPage);

export { DiscreetFrontPage, openDevice };
