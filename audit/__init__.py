"""Known vulnerabilities of dependencies (`make audit`), and the list of dependencies (`make sbom`)."""
