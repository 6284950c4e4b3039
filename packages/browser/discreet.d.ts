/** What leaves the reader's device, and when: docs/reference/protocol.md of Discreet. */

export interface Article {
  readonly id: string;
  readonly title: string;
  readonly category: string;
  readonly topic: number;
  /** The score for everybody. */
  readonly base: number;
  /** Whether it was opened on this device. */
  readonly read: boolean;
  readonly abstract?: string;
  readonly section?: string;
  /** Seconds since 1970. */
  readonly published?: number | null;
  readonly url?: string;
  readonly image?: string;
}

export interface RankedArticle extends Article {
  readonly score: number;
  /** How much of the score the reader's own clicks made. */
  readonly personal: number;
}

export interface Front {
  readonly articles: RankedArticle[];
  /** To be handed to `clicked`; null if clicks belong to no list that the server sent. */
  readonly slate: string | null;
  readonly ranking: "local" | "shortlist" | "server";
  readonly personal: boolean;
}

export interface Status {
  readonly online: boolean;
  /** One plain sentence, or null. */
  readonly problem: string | null;
  readonly articles: number;
  readonly clicks: number;
  /** Why nothing is released any more, or null. */
  readonly stopped: string | null;
  /** False if the browser keeps nothing. */
  readonly lasts: boolean;
  /** True until all pages of the catalogue are there. */
  readonly isComing: boolean;
}

export interface SentEntry {
  readonly time: number;
  readonly method: string;
  readonly url: string;
  /** The exact text of the body; "" for none, "N sealed bytes" for what is sealed. */
  readonly json: string;
  readonly status: number | null;
  /** How often it was asked with nothing new in the answer, if more than once. */
  readonly times?: number;
}

export interface Kept {
  readonly clicks: number;
  readonly open: number;
  readonly topics: number[];
  readonly categories: Record<string, number>;
  readonly read: { readonly id: string; readonly title: string }[];
}

export interface Category {
  readonly category: string;
  readonly articles: number;
  readonly isOpen: boolean;
  readonly opened: number;
  readonly later: number;
}

export interface Choices {
  /** The most that one click may ever cost, or null for the publisher's own limit. */
  epsilon?: number | null;
  /** Sections whose clicks are counted exactly and sent in clear. */
  openCategories?: string[];
}

/** The public terms of a sum over all readers. */
export interface Task {
  readonly id: string;
  readonly name: string;
  readonly purpose: string;
  readonly epsilon: number;
  readonly delta: number;
  readonly per: "window" | "day";
  readonly leader: string;
  readonly helper: string;
  readonly window_seconds: number;
}

export interface SumsState {
  readonly isStopped: boolean;
  readonly problem: string | null;
  /** Why tasks were refused, a sentence for each. */
  readonly refused: string[];
  /** Why nothing is contributed from this page: a browser must keep the ledger, and find it again on a later day (UTC). */
  readonly obstacle: string | null;
  readonly tasks: Task[];
  readonly contributions: SentEntry[];
  /** The articles that count in what is sent now. */
  readonly counted: string[];
  /** When the next contribution is due, in seconds since 1970. */
  readonly next: number | null;
  /** ε spent on the latest day, and in all, at `delta`; with the device's own caps. */
  readonly today: number;
  readonly life: number;
  readonly delta: number;
  readonly maxDay: number;
  readonly maxLife: number;
}

/** The reader's part in sums, for as long as the page is open. */
export interface TakingPart {
  readonly isStopped: boolean;
  /** Call it about once a second, whatever the reader does; true if there is something new to show. */
  tick(): Promise<boolean>;
  /** Nothing is sent or asked any more; this is remembered. */
  stop(): Promise<void>;
  resume(): Promise<void>;
  state(): Promise<SumsState>;
}

export interface Device {
  /** The terms that were accepted last, or null. */
  readonly model: Readonly<Record<string, unknown>> | null;
  /** The address or id of the article that is open, which is not recommended; null for the page's own address. */
  current: string | null;
  /** Called when another tab did something. */
  onchange: (what: "changed" | "forgotten") => void;
  status(): Status;
  /** Fetch terms and the list of the catalogue; offline, keep what is here. */
  refresh(): Promise<Status>;
  /** Fetch the rest of the catalogue. */
  complete(): Promise<Status>;
  /** Ask again every minute or two, and when the page is shown again; returns what ends it. */
  follow(renewed: () => void | Promise<void>): () => void;
  articles(): Article[];
  categories(): Category[];
  /** Ranked here, without articles read already; nothing is asked. */
  here(limit?: number, options?: { category?: string | null }): Front;
  /** Ranked in the way that the publisher ranks. */
  front(limit?: number): Promise<Front>;
  /** The same articles with the clicks since; nothing is asked. */
  again(front: Front): Front;
  /** Remember a click, here; `id` may be the article's address. */
  clicked(id: string, slate?: string | null): Promise<void>;
  /** Make and send what is due. */
  releaseDue(): Promise<SentEntry[]>;
  /** The log of what left this device. */
  sent(): SentEntry[];
  kept(): Kept;
  statement(): string[];
  settings(): { epsilon: number | null; openCategories: string[] };
  settings(choices: Choices): Promise<{ epsilon: number | null; openCategories: string[] }>;
  /** Take part in sums; `helpers` are the second aggregators that are trusted not to work together with the publisher. */
  takePart(options: { helpers: string[] }): Promise<TakingPart>;
  /** The history goes, and all that a server handed out; what was spent stays written down. */
  forget(): Promise<void>;
}

/** What holds of the first places of a list, whatever was read, as far as its articles allow it. */
export interface FirstPage {
  /** How many places it is about, 12; 0 for no limit. */
  places: number;
  /** The most of them that one section has, 4. */
  maxOfSection: number;
  /** The fewest of them that are new, 4. */
  minNew: number;
  /** The part of the list, the latest published, that is new: 0.1. */
  newShare: number;
}

export interface DeviceOptions {
  /** The server, "" for the page's own origin. */
  url?: string;
  firstPage?: Partial<FirstPage>;
  /** The address or id of the article that is open, which is not recommended; null for the page's own address. */
  current?: string | null;
  /** null for memory, in tests: one database belongs to each server, whoever opens it. */
  database?: string | null;
  /** For tests. */
  fetch?: typeof globalThis.fetch;
  random?: (count: number) => Uint8Array;
  now?: () => number;
}

export function openDevice(options?: DeviceOptions): Promise<Device>;

/** `<discreet-front-page server helper limit category heading current places max-of-section min-new new-share>` */
export class DiscreetFrontPage extends HTMLElement {
  readonly device: Device | null;
  readonly sums: TakingPart | null;
  render(): void;
}

export interface OpenEvent extends CustomEvent<{ article: RankedArticle }> {}

declare global {
  interface HTMLElementTagNameMap {
    "discreet-front-page": DiscreetFrontPage;
  }
  interface HTMLElementEventMap {
    /** Before an article is opened; can be cancelled. */
    "discreet-open": OpenEvent;
    "discreet-ready": CustomEvent;
  }
}
