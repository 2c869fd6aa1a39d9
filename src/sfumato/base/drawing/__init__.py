"""Pictures as SVG: maps, charts and their ticks, for pages, the collector and notebooks."""
