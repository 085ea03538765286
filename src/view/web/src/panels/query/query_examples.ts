// Queries to begin with.
export const EXAMPLES: readonly (readonly [string, string])[] = [
  ["Names with most time", `select name, count(*) as count, sum(dur) as total, max(dur) as longest
from slice group by name order by total desc limit 50`],
  ["The longest GPU activities", `select id, ts, dur, name, track_id
from gpu_slice order by dur desc limit 100`],
  ["Time of each category by rank", `select rank, category, count(*) as count, sum(dur) as total
from slice group by rank, category order by rank, total desc`],
  ["Slices that touch what is looked at", `select id, ts, dur, name, track_id
from slice where ts < :until and ifnull(ts + dur > :from, 1) order by ts limit 1000`],
  ["Gaps between GPU activities", `with ends as (
  select track_id, ts, max(ts + dur) over (partition by track_id order by ts rows between unbounded preceding and 1 preceding) as free
  from gpu_slice)
select free as ts, ts - free as dur, track_id
from ends where ts > free order by dur desc limit 100`],
  ["An argument of GPU activities", `select id, ts, dur, name, extract_arg(arg_set_id, 'args.stream') as stream
from gpu_slice limit 100`],
  ["All tables and their columns", `select * from heddle_tables`],
];
