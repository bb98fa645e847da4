"""Random inputs take as long as the machine lets them: no test here is timed."""

from __future__ import annotations

import hypothesis

hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")
