"""The collector as a service: routes, store, pages."""
