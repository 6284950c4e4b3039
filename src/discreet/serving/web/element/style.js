/** The page's own colour of text with some green: it can be read on light and on dark pages, whatever the system prefers. */
const ACCENT = "var(--discreet-accent, color-mix(in srgb, currentColor 45%, #2a9d84))";

/** How the element looks, unless the page says otherwise by the custom properties below or by ::part(). */
const STYLE = `
:host { display: block; color: var(--discreet-ink, inherit); font: inherit; overflow-wrap: anywhere; container-type: inline-size; }
[hidden] { display: none !important; }
h2, h3, p, ol, ul { margin: 0; padding: 0; }
h2 { font-size: 1.4em; line-height: 1.2; margin-bottom: 0.6em; font-family: var(--discreet-heading-font, inherit); }
ol { list-style: none; display: grid; gap: var(--discreet-gap, 1.2em) 1.5em; grid-template-columns: minmax(0, 1fr); }
@container (min-width: 34em) { ol { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@container (min-width: 56em) { ol { grid-template-columns: repeat(3, minmax(0, 1fr)); } }
li[part="article"] { border-top: 1px solid var(--discreet-rule, color-mix(in srgb, currentColor 20%, transparent)); padding-top: 0.6em; }
h3 { font-size: 1.1em; line-height: 1.25; font-family: var(--discreet-heading-font, inherit); }
a { color: var(--discreet-link, inherit); text-decoration: none; }
a:hover, summary:hover { text-decoration: underline; text-underline-offset: 0.15em; }
:focus-visible { outline: 3px solid ${ACCENT}; outline-offset: 2px; border-radius: 2px; }
p[part="kicker"] { font-size: 0.78em; letter-spacing: 0.03em; color: ${ACCENT}; font-weight: 600; margin-bottom: 0.25em; }
span[part="lifted"] { margin-left: 0.6em; padding: 0.05em 0.55em; border: 1px solid currentColor; border-radius: 1em; font-weight: 400; }
p[part="abstract"] { font-size: 0.92em; line-height: 1.4; margin-top: 0.35em; opacity: 0.8; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden; }
p[part="status"] { opacity: 0.8; margin-bottom: 0.6em; }
button { font: inherit; font-size: 0.9em; color: inherit; background: none; border: 1px solid currentColor; border-radius: 4px; padding: 0.45em 0.9em; cursor: pointer; }
.newer { position: sticky; top: 3em; height: 0; z-index: 1; text-align: end; }
button[part="newer"] { color: CanvasText; background: Canvas; transform: translateY(calc(-100% - 0.4em)); }
button[part="more"] { display: block; margin: 1.2em auto 0; }
details { margin-top: 1.4em; font-size: 0.88em; line-height: 1.45; border-top: 1px solid var(--discreet-rule, color-mix(in srgb, currentColor 20%, transparent)); padding-top: 0.6em; }
summary { cursor: pointer; color: ${ACCENT}; }
details > p, details > ul { margin-top: 0.6em; }
details ul { padding-left: 1.2em; }
details li { margin-top: 0.35em; }
p[part="buttons"] { display: flex; flex-wrap: wrap; gap: 0.7em; align-items: center; }
p[part="buttons"] a { color: ${ACCENT}; text-decoration: underline; }
`;

let sheet = null;

/** One for all elements of a page. A policy that forbids inline styles does not forbid it. */
export function styleSheet() {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
  }
  return sheet;
}
