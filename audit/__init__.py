"""Find known vulnerabilities of dependencies (`make audit`), and list the dependencies (`make sbom`)."""
