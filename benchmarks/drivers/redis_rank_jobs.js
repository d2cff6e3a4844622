// Jobs through npm's redis-rank. Started with a port, a key and a number of players.
// For each line `job seconds` on its input it prints players a second.

const readline = require("readline");
const Redis = require("ioredis");
const { Leaderboard } = require("redis-rank");

const BATCH = 100;
const [port, key, players] = [Number(process.argv[2]), process.argv[3], Number(process.argv[4])];
const client = new Redis({ host: "127.0.0.1", port });
const board = new Leaderboard(client, key, { sortPolicy: "high-to-low", updatePolicy: "replace" });

const player = () => "p" + Math.floor(Math.random() * players);
const score = () => Math.floor(Math.random() * 1e7);
const entries = (length) => () => Array.from({ length }, () => ({ id: player(), value: score() }));

const rank = ({ id }) => board.rank(id);

const jobs = {
  update: [1, entries(1), async ([{ id, value }]) => { await board.updateOne(id, value); return board.rank(id); }],
  batch: [BATCH, entries(BATCH), async (all) => { await board.update(all); return Promise.all(all.map(rank)); }],
  // It has no call for many ranks: one after the other, or all without waiting for one another.
  ranks: [BATCH, entries(BATCH), async (all) => { for (const entry of all) await rank(entry); }],
  unawaited: [BATCH, entries(BATCH), (all) => Promise.all(all.map(rank))],
};

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [name, seconds] = line.split(" ");
    const [count, make, job] = jobs[name];
    let spent = 0, done = 0;
    while (spent < Number(seconds) * 1000) {
      // What it takes to make up players is not measured.
      const given = make();
      const begun = performance.now();
      await job(given);
      spent += performance.now() - begun;
      done += count;
    }
    console.log(done / (spent / 1000));
  }
  client.disconnect();
}

main();
