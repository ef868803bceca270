//! Scenarios from their text to their results. One program for all of these files: each alone would compile the whole engine again.

mod acceltor;
mod circuits;
mod column_digests;
mod detected;
mod digests;
mod elephants;
mod fabrics;
mod flow_dependencies;
mod format_page;
mod jobs;
mod livelock;
mod malformed;
mod mutations;
mod parallel_links;
mod plugins;
mod recording;
mod scenario;
mod schedules;
mod scopes;
mod set_up;
mod topologies;
mod trace;
mod transport;
mod why;
mod why_page;
mod workloads;
