// The allocator of the engine (dlmalloc, built by tools/wasm.sh) by the two functions that the page calls.
//
//   node malloc.mjs ENGINE.wasm      no two blocks overlap, each is aligned, and what is freed is used again
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";

const imports = new Proxy({}, {get: () => new Proxy({}, {get: () => () => 52, has: () => true}), has: () => true});
const {exports} = (await WebAssembly.instantiate(readFileSync(process.argv[2]), imports)).instance;
const {memory, hd_engine_room: room, hd_engine_give: give} = exports;
const isFilled = ({at, size, mark}) => new Uint8Array(memory.buffer, at, size).every(byte => byte === mark);
let seed = 1;
const random = below => { seed = seed * 48271 % 2147483647; return seed % below; };

const blocks = [];
let pages = [];
for (let round = 0; round < 6; round++) {
  for (let k = 0; k < 4000; k++) {
    if (blocks.length > 0 && random(5) < 2) {
      const [block] = blocks.splice(random(blocks.length), 1);
      assert.ok(isFilled(block), `${block.size} bytes at ${block.at} were overwritten`);
      give(block.at);
      continue;
    }
    const size = random(50) ? random(200) : random(1 << random(22)), at = room(size) >>> 0;
    assert.ok(at && at % 16 === 0 && at + size <= memory.buffer.byteLength);
    new Uint8Array(memory.buffer, at, size).fill(k & 255);
    blocks.push({at, size, mark: k & 255});
  }
  for (const block of blocks.splice(0)) {
    assert.ok(isFilled(block), `${block.size} bytes at ${block.at} were overwritten`);
    give(block.at);
  }
  // Free neighbours are merged: half of what there is is one block again.
  const large = room(memory.buffer.byteLength / 2);
  assert.ok(large);
  give(large);
  pages.push(memory.buffer.byteLength >> 16);
}
assert.equal(pages.at(-1), pages[1], `the memory grows: ${pages}`);
for (const size of [4095 * 2 ** 20 + 1, -1, -16]) assert.equal(room(size), 0);
console.log(`malloc: ${pages.at(-1) / 16} MiB`);
