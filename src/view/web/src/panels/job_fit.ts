// Chooses the tracks of a rank to show if several ranks are below each other: as many as fit, the devices' first.
import { tracksBelow } from "../tracks/actions";
import { scaled } from "../scale";
import { GAP, SECTION_HEIGHT, SUMMARY_HEIGHT } from "../tracks/layout";
import { RANK_SECTION, type TrackInfo } from "../data/model";

export interface Fit {
  hidden: TrackInfo[];
  folded: TrackInfo[]; // to one row
}

const isSection = (track: TrackInfo): boolean => track.kind === "section" && track.role !== "rank" && (track.parent === null || track.parent === RANK_SECTION);
const isStream = (track: TrackInfo): boolean => track.stream !== undefined && !track.derived;
const foldedHeight = (track: TrackInfo): number => (isSection(track) ? scaled(SECTION_HEIGHT) : scaled(SUMMARY_HEIGHT) + GAP);

// All tracks of one trace, of which devices and the process of the main thread are always shown. Sections without
// device activities, if there are others, are one row. height: total height.
export function fitTracks(tracks: readonly TrackInfo[], height: number, room: number): Fit {
  const sections = tracks.filter(isSection);
  const devices = sections.filter((section) => tracksBelow(tracks, section).some(isStream));
  if (devices.length === 0) return { hidden: [], folded: [] };
  const hosts = sections.filter((section) => !devices.includes(section));
  if (height <= room) return { hidden: [], folded: hosts };
  const main = hosts.reduce<TrackInfo | null>((most, each) => (most && most.events >= each.events ? most : each), null);
  const ofDevices = devices.flatMap((section) => tracksBelow(tracks, section));
  const streams = ofDevices.filter(isStream).sort((a, b) => (b.busy ?? 0) - (a.busy ?? 0));
  const first = [...devices, ...(main ? [main] : [])];
  const inHosts = new Set(hosts.flatMap((section) => tracksBelow(tracks, section)));
  const rest = tracks.filter((track) => !first.includes(track) && !streams.includes(track) && !inHosts.has(track));
  const shown = new Set(first);
  const head = tracks.some(({ role }) => role === "rank") ? scaled(SECTION_HEIGHT) : 0;
  let left = room - head - first.reduce((sum, track) => sum + foldedHeight(track), 0);
  for (const track of [...streams, ...rest]) {
    left -= foldedHeight(track);
    if (left < 0) break;
    shown.add(track);
  }
  const parents = new Set(tracks.map((track) => track.parent));
  return {
    hidden: tracks.filter((track) => !shown.has(track) && !inHosts.has(track) && track.role !== "rank"),
    folded: tracks.filter((track) => shown.has(track) && !devices.includes(track) && (isSection(track) || !parents.has(track.id))),
  };
}
