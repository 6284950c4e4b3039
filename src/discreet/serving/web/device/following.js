/** Looking again whether there is something new, for as long as a page is open. */

const LEAST = 45, MOST = 95;

/**
 * `look()` is called at drawn times, the next one between LEAST and MOST seconds after the last, and when the page is shown
 * again, but not twice at once. No click moves these times. → a function that ends it.
 */
export function following(look, random) {
  let timer = null, isLooking = false, isOver = false;
  const wait = () => {
    clearTimeout(timer);
    const [high, low] = random(2);
    if (!isOver) timer = setTimeout(now, 1000 * (LEAST + ((MOST - LEAST) * (256 * high + low)) / 65536));
  };
  const now = async () => {
    if (isLooking || document.hidden) return wait();
    isLooking = true;
    try {
      await look();
    } catch {
      // the next time it may work
    }
    isLooking = false;
    wait();
  };
  document.addEventListener("visibilitychange", now);
  globalThis.addEventListener("pageshow", now);
  wait();
  return () => {
    isOver = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", now);
    globalThis.removeEventListener("pageshow", now);
  };
}
