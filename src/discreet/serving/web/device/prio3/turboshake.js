/** TurboSHAKE128 (RFC 9861) with domain byte 1: Keccak with 12 rounds, on pairs of 32-bit words, the low one first. */

const RATE = 168;
const ROUND_CONSTANTS = new Int32Array(
  [
    0x8000808b, 0, 0x8b, 0x80000000, 0x8089, 0x80000000, 0x8003, 0x80000000, 0x8002, 0x80000000, 0x80, 0x80000000,
    0x800a, 0, 0x8000000a, 0x80000000, 0x80008081, 0x80000000, 0x8080, 0x80000000, 0x80000001, 0, 0x80008008, 0x80000000,
  ],
);

/* Where each lane goes, and by how many bits it is turned, along the cycle that ρ and π make. */
const CYCLE = new Int32Array(24), TURN = new Int32Array(24);
for (let step = 0, x = 1, y = 0; step < 24; step++) {
  [x, y] = [y, (2 * x + 3 * y) % 5];
  CYCLE[step] = 2 * (x + 5 * y);
  TURN[step] = (((step + 1) * (step + 2)) / 2) % 64;
}

const columns = new Int32Array(10);
const row = new Int32Array(10);

function permute(s) {
  for (let round = 0; round < 24; round += 2) {
    for (let x = 0; x < 10; x++) columns[x] = s[x] ^ s[x + 10] ^ s[x + 20] ^ s[x + 30] ^ s[x + 40];
    for (let x = 0; x < 10; x += 2) {
      const before = (x + 8) % 10, after = (x + 2) % 10;
      const low = columns[before] ^ ((columns[after] << 1) | (columns[after + 1] >>> 31));
      const high = columns[before + 1] ^ ((columns[after + 1] << 1) | (columns[after] >>> 31));
      for (let y = x; y < 50; y += 10) {
        s[y] ^= low;
        s[y + 1] ^= high;
      }
    }
    let low = s[2], high = s[3];
    for (let step = 0; step < 24; step++) {
      const to = CYCLE[step], by = TURN[step] & 31;
      if (TURN[step] >= 32) [low, high] = [high, low];
      const turnedLow = by ? (low << by) | (high >>> (32 - by)) : low;
      const turnedHigh = by ? (high << by) | (low >>> (32 - by)) : high;
      low = s[to];
      high = s[to + 1];
      s[to] = turnedLow;
      s[to + 1] = turnedHigh;
    }
    for (let y = 0; y < 50; y += 10) {
      for (let x = 0; x < 10; x++) row[x] = s[y + x];
      for (let x = 0; x < 10; x++) s[y + x] = row[x] ^ (~row[(x + 2) % 10] & row[(x + 4) % 10]);
    }
    s[0] ^= ROUND_CONSTANTS[round];
    s[1] ^= ROUND_CONSTANTS[round + 1];
  }
}

/** The stream of a message that comes in parts: next() fills a Uint8Array with its next bytes. */
export class TurboShake128 {
  constructor(...parts) {
    this.state = new Int32Array(50);
    this.at = 0;
    for (const part of parts) {
      for (let i = 0; i < part.length; i++) {
        this._mix(part[i]);
        if (++this.at === RATE) this._permute();
      }
    }
    this._mix(1);
    this.at = RATE - 1;
    this._mix(0x80);
    this._permute();
  }

  next(out) {
    for (let i = 0; i < out.length; i++) {
      if (this.at === RATE) this._permute();
      out[i] = this.state[this.at >> 2] >>> (8 * (this.at & 3));
      this.at++;
    }
    return out;
  }

  _mix(byte) {
    this.state[this.at >> 2] ^= byte << (8 * (this.at & 3));
  }

  _permute() {
    permute(this.state);
    this.at = 0;
  }
}
