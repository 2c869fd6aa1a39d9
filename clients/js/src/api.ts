// Made from the OpenAPI document by `npm run api`; do not edit.

/** An act that needs nothing but, if you like, its reason. */
export interface ActRequest {
  reason?: string;
}

/** Whether the reports look forged, and why. */
export interface Alarm {
  raised: boolean;
  reasons: string[];
}

/** Cells put together until they can be told from their neighbours: a share of the average, and its interval. */
export interface AreaView {
  row: number;
  column: number;
  rows: number;
  columns: number;
  share: number;
  low: number;
  high: number;
}

/** The polygons of a file, as GeoJSON in WGS 84. */
export interface AreasAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  areas: Record<string, unknown>;
}

/** A zipped shapefile or a GeoPackage of named areas. */
export interface AreasRequest {
  file: string;
}

/** Who did what, oldest first. */
export interface AuditAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  entries: AuditView[];
}

/** One line of the audit log; ``detail`` is a JSON object as text. */
export interface AuditView {
  position: number;
  at_s: number;
  operator: string;
  action: string;
  campaign: string | null;
  detail: string;
}

/** One backup on the server's own disk. */
export interface BackupView {
  name: string;
  made_at_s: number;
  bytes: number;
}

/** The backups there are, newest first, and the folder they are in (None: none are made here). */
export interface BackupsAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  backups: BackupView[];
  folder: string | null;
}

/** The batch is on disk; ``duplicate`` if it was before. */
export interface BatchAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  duplicate: boolean;
  reports: number;
}

/** Relayed reports, all drawn on their devices from the same channel. */
export interface BatchRequest {
  version: string;
  key: string;
  cells: number[];
}

/** One campaign. */
export interface CampaignAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  campaign: CampaignView;
}

/** A new campaign. Give beta_per_m or epsilon_per_km; the cycle is due by time, by reports, or both. */
export interface CampaignRequest {
  question?: string;
  description?: string;
  organiser?: string;
  contact?: string;
  language?: "" | "en" | "fr" | "de" | "es";
  ends_at_s?: number | null;
  legal_basis?: string;
  officer?: string;
  processor?: string;
  retention?: string;
  offers_position?: boolean;
  name: string;
  title?: string;
  grid: { south: number; west: number; north: number; east: number; cell_size_m: number };
  beta_per_m?: number | null;
  epsilon_per_km?: number | null;
  cycle_duration_s?: number | null;
  cycle_reports?: number | null;
  minimum_cycle_s?: number | null;
  minimum_tickets?: number | null;
  floor?: number | null;
  reporting?: "once" | "every-cycle" | "once-per-epoch";
  epoch_cycles?: number | null;
  cycle_classes?: "none" | "weekday-weekend" | "parts-of-day" | "weekday-weekend-parts-of-day";
  time_zone?: string;
  begins_hour?: number | null;
  promise?: "epsilon" | "mutual-information";
  tickets?: "blind" | "linkable";
  rehearsal?: boolean;
  areas?: Record<string, unknown> | null;
  name_field?: string | null;
  relayed?: boolean;
  relayed_cap_reports?: number | null;
}

/** A campaign and its current cycle. */
export interface CampaignView {
  question?: string;
  description?: string;
  organiser?: string;
  contact?: string;
  language?: "" | "en" | "fr" | "de" | "es";
  ends_at_s?: number | null;
  legal_basis?: string;
  officer?: string;
  processor?: string;
  retention?: string;
  offers_position?: boolean;
  title: string;
  grid: GridFields;
  beta_per_m: number;
  cycle_duration_s: number | null;
  cycle_reports: number | null;
  minimum_cycle_s: number;
  minimum_tickets: number;
  floor: number;
  reporting: "once" | "every-cycle" | "once-per-epoch";
  relayed: boolean;
  relayed_cap_reports: number;
  promise?: "epsilon" | "mutual-information";
  epoch_cycles?: number | null;
  cycle_classes?: "none" | "weekday-weekend" | "parts-of-day" | "weekday-weekend-parts-of-day";
  time_zone?: string;
  begins_hour?: number | null;
  tickets?: "blind" | "linkable";
  rehearsal?: boolean;
  districts?: District[];
  name: string;
  cells: number;
  two_beta_per_km: number;
  created_at_s: number;
  cycle: OpenCycleView;
  state: "running" | "paused" | "ended" | "archived";
}

/** Every campaign. */
export interface CampaignsAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  campaigns: CampaignView[];
}

/** A district's share before and after (without smoothing), the interval of the difference, and what it tells. */
export interface ChangeView {
  name: string;
  before: number;
  after: number;
  low: number;
  high: number;
  told: "more" | "fewer" | "none";
}

/** The channel of the open cycle: the signed text, its hash and its signature. */
export interface ChannelAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  payload: string;
  version: string;
  signature: string;
  public_key: string;
  log_index: number;
  opened_at_s: number;
  due_at_s: number | null;
}

/** One report of each person instead of one in every round: what that costs, and what its map tells. */
export interface CheaperView {
  reporting: "once" | "once-per-epoch";
  epoch_cycles: number | null;
  epsilon_together_per_km: number;
  width_m: number | null;
  round_width_m: number | null;
  words: string;
  areas_svg: string;
}

/** Whether the cycle was closed, and why. */
export interface CloseAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  closed: boolean;
  cycle: number;
  reason: string;
}

/** Nothing to say: close the cycle if it may be closed. */
export type CloseRequest = Record<string, never>;

/** A closed cycle in numbers. */
export interface ClosedCycleView {
  epsilon_per_km: LevelPerKm;
  mutual_information_nats: number;
  distortion_m: number;
  emd_to_previous_m: number | null;
  residual: Residual;
  alarm: Alarm;
  change_capped: boolean;
  influence: Record<string, number>;
  spent_epsilon_per_km: number;
  gap_nats_per_report: number;
  target: string;
  interval_level: number | null;
  verdict?: "fits" | "changed" | "forged";
  notices?: string[];
  averaged_cycles?: number;
  cycle_class?: string;
  class_cycles?: number;
  interval_words?: string;
  influence_ranges?: InfluenceRange[];
  excluded_cycles?: number[];
  suspicious_cycles?: number[];
  sharpness?: SharpnessFacts | null;
  map_odds?: MapOddsFacts | null;
  cycle: number;
  version: string;
  opened_at_s: number;
  closed_at_s: number | null;
  tickets: number;
  reports: number;
  relayed_reports: number;
  merged_periods: number;
  two_beta_per_km: number;
  excluded: boolean;
  headline: string;
}

/** A QR code as an SVG picture. */
export interface CodeAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  address: string;
  svg: string;
}

/** The address of a campaign's page as people will type it. */
export interface CodeRequest {
  address: string;
}

/** How districts differ between two groups of rounds. */
export interface ComparisonAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  comparison: ComparisonView;
}

/** How the districts of two groups of rounds differ. */
export interface ComparisonView {
  before: number[];
  after: number[];
  reports_before: number;
  reports_after: number;
  level: number;
  target: "reporters" | "population";
  rows: ChangeView[];
}

/** A rehearsal becomes the real campaign under a name of its own: another campaign, with none of its reports. */
export interface CopyRequest {
  name: string;
}

/** A closed cycle with everything: also its reports per cell and its channel. */
export interface CountedCycleView {
  epsilon_per_km: LevelPerKm;
  mutual_information_nats: number;
  distortion_m: number;
  emd_to_previous_m: number | null;
  residual: Residual;
  alarm: Alarm;
  change_capped: boolean;
  influence: Record<string, number>;
  spent_epsilon_per_km: number;
  gap_nats_per_report: number;
  target: string;
  interval_level: number | null;
  verdict?: "fits" | "changed" | "forged";
  notices?: string[];
  averaged_cycles?: number;
  cycle_class?: string;
  class_cycles?: number;
  interval_words?: string;
  influence_ranges?: InfluenceRange[];
  excluded_cycles?: number[];
  suspicious_cycles?: number[];
  sharpness?: SharpnessFacts | null;
  map_odds?: MapOddsFacts | null;
  cycle: number;
  version: string;
  opened_at_s: number;
  closed_at_s: number | null;
  tickets: number;
  reports: number;
  relayed_reports: number;
  merged_periods: number;
  two_beta_per_km: number;
  excluded: boolean;
  headline: string;
  estimate: number[];
  this_cycle: number[] | null;
  without_suspicious: number[] | null;
  low: (number | null)[];
  high: (number | null)[];
  areas: AreaView[] | null;
  districts?: DistrictFacts | null;
  counts: number[];
  relayed_counts: number[];
  grid: GridFields;
  beta_per_m: number;
  output_weights: number[];
}

/** One closed cycle with its estimate. */
export interface CycleAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  cycle: CountedCycleView;
}

/** The dashboard's numbers; the map of each cycle is at ``maps/{cycle}/{page}.json``, page 1 .. ``map_pages``. */
export interface DashboardAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  campaign: DashboardCampaignView;
  history: ClosedCycleView[];
  map_pages: number;
}

/** The same with the address of the dashboard's map tiles, where the operator chose one. */
export interface DashboardCampaignView {
  question?: string;
  description?: string;
  organiser?: string;
  contact?: string;
  language?: "" | "en" | "fr" | "de" | "es";
  ends_at_s?: number | null;
  legal_basis?: string;
  officer?: string;
  processor?: string;
  retention?: string;
  offers_position?: boolean;
  title: string;
  grid: GridFields;
  beta_per_m: number;
  cycle_duration_s: number | null;
  cycle_reports: number | null;
  minimum_cycle_s: number;
  minimum_tickets: number;
  floor: number;
  reporting: "once" | "every-cycle" | "once-per-epoch";
  relayed: boolean;
  relayed_cap_reports: number;
  promise?: "epsilon" | "mutual-information";
  epoch_cycles?: number | null;
  cycle_classes?: "none" | "weekday-weekend" | "parts-of-day" | "weekday-weekend-parts-of-day";
  time_zone?: string;
  begins_hour?: number | null;
  tickets?: "blind" | "linkable";
  rehearsal?: boolean;
  districts?: District[];
  name: string;
  cells: number;
  two_beta_per_km: number;
  created_at_s: number;
  cycle: OpenCycleView;
  state: "running" | "paused" | "ended" | "archived";
  tile_url: string | null;
}

/** To delete a campaign, write its name again. */
export interface DeleteRequest {
  confirm: string;
}

/** Everything of that campaign is deleted. */
export interface DeletedAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  deleted: string;
}

/** A named area of squares, chosen before anybody reports: ``runs`` are first cell, cells, first cell, cells, ... */
export interface District {
  name: string;
  runs: number[];
}

/** What a closed cycle published about its districts. */
export interface DistrictFacts {
  level: number;
  average: DistrictShare[];
  this_round: DistrictShare[];
  each: [number, number, number][];
  target: "reporters" | "population";
}

/** A district's share, or that of several that cannot be told apart; no name: of what lies in none. */
export interface DistrictShare {
  names: string[];
  share: number;
  low: number;
  high: number;
}

/** The campaign has ended; whether its last cycle was published, or why not. */
export interface EndAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  campaign: CampaignView;
  published: boolean;
  reason: string;
}

/** A grid on the earth: its size in cells, a cell's size in metres and in degrees, and its north-western corner. */
export interface GridFields {
  rows: number;
  columns: number;
  cell_height: number;
  cell_width: number;
  unit: "m";
  north_deg: number;
  west_deg: number;
  cell_height_deg: number;
  cell_width_deg: number;
}

/** The last entry, which covers every entry before, with the key that signed it, and its words. */
export interface HeadView {
  campaign: string;
  index: number;
  version: string;
  previous: string;
  entry: string;
  signature: string;
  public_key: string;
  words: string;
}

/** The heads of this collector's logs, and those of others that it republishes. */
export interface HeadsAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  heads: HeadView[];
}

/** The closed cycles, oldest first. */
export interface HistoryAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  history: ClosedCycleView[];
}

/** How far a share of forged reports in every pooled cycle would move the map, over the places tried. */
export interface InfluenceRange {
  share: number;
  way: string;
  least_m: number;
  most_m: number;
}

/** The cycles that are left out now, and the cycle whose map was estimated again. */
export interface LeftOutAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  excluded: number[];
  revised_cycle: number | null;
}

/** An epsilon per kilometre: exact, or between two bounds. */
export interface LevelPerKm {
  lower: number;
  upper: number;
  exact: boolean;
}

/** The public log of channel versions. */
export interface LogAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  log: LogEntryView[];
}

/** The same with the cycle whose channel it is; chained to the entry before. */
export interface LogEntryView {
  campaign: string;
  index: number;
  version: string;
  previous: string;
  entry: string;
  signature: string;
  cycle: number;
}

/** One page of a cycle's map. */
export interface MapAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  map: MapView;
}

/** What the published map gives away about one person of this round: upper limits on the odds of two places. See :mod:`sfumato.collect.loop.map_odds`; all but ``local`` and ``together`` may be passed 1 time in 100. */
export interface MapOddsFacts {
  people: number;
  distance_m: number;
  average: number;
  worst: number;
  local: number;
  together: number;
}

/** One page of a closed cycle's map: the cells from ``first_cell`` on. */
export interface MapView {
  cycle: number;
  page: number;
  pages: number;
  first_cell: number;
  estimate: number[];
  this_cycle: number[] | null;
  low: number[] | null;
  high: number[] | null;
  areas: AreaView[] | null;
  districts?: DistrictFacts | null;
}

/** The ways a test notice was put on. */
export interface NoticesAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  ways: string[];
}

/** A campaign's current cycle. Its counts are told to operators; everybody else reads None until it is closed. */
export interface OpenCycleView {
  epsilon_per_km: LevelPerKm;
  mutual_information_nats: number;
  distortion_m: number;
  number: number;
  version: string;
  state: "open" | "closing" | "closed";
  opened_at_s: number;
  due_at_s: number | null;
  tickets: number | null;
  reports: number | null;
  relayed_reports: number | null;
  merged_periods: number;
}

/** A colleague with a token of their own. */
export interface OperatorRequest {
  name: string;
}

/** An operator's name and since when (None: from the start). */
export interface OperatorView {
  name: string;
  created_at_s: number | null;
}

/** Everybody who may operate, and who asked. */
export interface OperatorsAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  operators: OperatorView[];
  you: string;
}

/** Two neighbouring districts, and from how many people on they are told apart; None: they never are. */
export interface PairView {
  one: string;
  other: string;
  people: number | null;
  told: boolean;
  words: string;
}

/** A town, a village or a quarter, from GeoNames: its middle, its country's letters, about how many live there. */
export interface PlaceView {
  name: string;
  country: string;
  lat_deg: number;
  lon_deg: number;
  people: number;
}

/** Names for a map, the most people first, and a campaign's districts, whose names are the organiser's. */
export interface PlacesAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  places: PlaceView[];
  districts: District[];
}

/** A name, or how it begins; or which places are in a rectangle. In no address, so in no log of a proxy. */
export interface PlacesRequest {
  name?: string;
  within?: { south: number; west: number; north: number; east: number } | null;
}

/** A plan. */
export interface PlanAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  plan: PlanView;
}

/** A campaign that is thought about: its area, its promise, and about how many people for how long. */
export interface PlanRequest {
  grid: { south: number; west: number; north: number; east: number; cell_size_m: number };
  epsilon_per_km?: number;
  people?: number;
  after_s?: number;
  cycle_duration_s?: number;
  reporting?: "once" | "every-cycle" | "once-per-epoch";
  epoch_cycles?: number | null;
  promise?: "epsilon" | "mutual-information";
  areas?: Record<string, unknown> | null;
  name_field?: string | null;
}

/** What so many people would draw, and what each report would cost them. */
export interface PlanView {
  rows: number;
  columns: number;
  cells: number;
  cells_limit: number;
  epsilon_per_km: number;
  displacement_m: number;
  two_cell_success: number | null;
  reports_until_stop: number;
  people: number;
  reports: number;
  after_s: number;
  width_m: number | null;
  finer: WidthView[];
  words: string;
  map_words: string;
  reports_each: number;
  epsilon_together_per_km: number;
  together_words: string;
  areas_svg: string;
  cheaper: CheaperView[];
  districts: string[][];
  pairs: PairView[];
  advice: string[];
}

/** What went wrong and what to do. */
export interface Refusal {
  ok: false;
  error: string | null;
  errors: string[];
  status: number;
}

/** The report is on disk; ``duplicate`` if it was before. */
export interface ReportAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  duplicate: boolean;
}

/** One obfuscated report. */
export interface ReportRequest {
  cell: number;
  version: string;
  key: string;
  ticket: string;
}

/** How well a cycle's reports fit the channel that was published. */
export interface Residual {
  statistic: number;
  p_value: number;
}

/** What this server is and the key it signs with. */
export interface ServerAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  server: ServerView;
}

/** What this server is and the key it signs with. */
export interface ServerView {
  name: "sfumato";
  version: string;
  public_key: string;
  tile_url: string | null;
}

/** How fine a map the pooled reports can draw, and what finer would take. */
export interface SharpnessFacts {
  reports: number;
  width_m: number | null;
  finer_width_m: number | null;
  more_reports: number | null;
}

/** Whether the server is alive or ready. */
export interface StateAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  state: "alive" | "ready";
}

/** What is said about a campaign; a text that is left out stays. */
export interface TextsRequest {
  title?: string | null;
  question?: string | null;
  description?: string | null;
  organiser?: string | null;
  contact?: string | null;
  language?: "" | "en" | "fr" | "de" | "es" | null;
  ends_at_s?: number | null;
  legal_basis?: string | null;
  officer?: string | null;
  processor?: string | null;
  retention?: string | null;
  offers_position?: boolean | null;
}

/** A ticket for one report, or where tickets are blind, the signature of the blinded one in hexadecimal. */
export interface TicketAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  ticket: string;
  expires_at_s: number | null;
}

/** A device asks for its ticket of a cycle. */
export interface TicketRequest {
  cycle: number;
  device: string;
  blinded?: string | null;
}

/** A token, shown once. */
export interface TokenAnswer {
  ok: boolean;
  error: string | null;
  errors: string[];
  status: number;
  operator: string;
  token: string;
}

/** How many people it takes to tell areas of this width apart. */
export interface WidthView {
  width_m: number;
  people: number;
}
