"""Reports: how a period went, and how the teams stand."""

from __future__ import annotations

from bot import reports
from bot.asks import Period
from bot.clock import moment
from bot.control.ledger import LOOP, STARVING
from bot.desk.office import Office
from bot.fairness import FairView, fair_view
from bot.plans import near, refuse
from bot.reports import Entitled, ReportView
from bot.views import RefusalCode, Refused
from scheduler.model import TeamName
from storage.accounts import Grant, Outcome


class Reporting(Office):
    """Figures for everybody: nothing in them is anybody's secret."""

    def fair(self, person_id: str, team: str | None = None) -> FairView | Refused:
        """What the teams hold, what is theirs, and their decayed chip-hours."""
        now = self._control.clock.now()
        wanted = self._team(team)
        if isinstance(wanted, Refused):
            return wanted
        mine = self._directory.person(person_id).teams
        return self._look(lambda engine: fair_view(engine, self._terms, mine, wanted, now))

    def report(self, period: Period = Period.WEEK, team: str | None = None) -> ReportView | Refused:
        """The period that ends now, of everybody or of one team."""
        wanted = self._team(team)
        if isinstance(wanted, Refused):
            return wanted
        return self.report_until(self._control.clock.now(), period, wanted)

    def report_until(self, until: float, period: Period, team: str | None = None) -> ReportView:
        """The period of a length that ended at a moment."""
        begin, end = moment(until - reports.LENGTHS[period]), moment(until)
        with self._store.read() as view:
            grants = view.grants.during(begin, end, team=team)
            gauges = view.gauges.during(begin, end)
            estimates = view.estimates.settled(begin, end)
            starvations = view.transitions.count(STARVING, begin, end)
            interventions = view.interventions.count(begin, end, but_by=LOOP)
        begin = reports.known_since(gauges, grants, begin)
        entitled = self._entitled(team)
        people = reports.accounts(grants, _owner, begin, end)
        return ReportView(
            period=period,
            since=begin.timestamp(),
            until=until,
            team=team,
            utilisation=reports.mean(gauges, lambda gauge: gauge.used),
            fragmentation=reports.mean(gauges, lambda gauge: gauge.stranded),
            points=reports.curve(gauges),
            gpu_hours=sum(grant.hours(begin, end) for grant in grants),
            waits=reports.all_waits(grants, begin, end),
            pools=reports.accounts(grants, _pool, begin, end, entitled.pools),
            teams=reports.accounts(grants, _team, begin, end, entitled.teams),
            people=reports.most(people),
            spends=reports.accounts(grants, _spend, begin, end),
            preemptions=reports.count_ends(grants, Outcome.PREEMPTED, begin, end),
            lost=reports.count_ends(grants, Outcome.LOST, begin, end),
            starvations=starvations,
            guess=reports.judge(estimates),
            guesses=reports.judge_pools(estimates),
            interventions=interventions,
        )

    def _entitled(self, team: str | None) -> Entitled:
        terms = self._terms
        pools: dict[str, int] = {}
        for queue in terms.layout.queues:
            nominal = terms.nominal(queue.name)
            if queue.pool and team in (None, queue.team):
                pools[queue.pool] = pools.get(queue.pool, 0) + nominal
        names = [str(name) for name in terms.teams] if team is None else [team]
        return Entitled(
            pools=pools,
            teams={name: terms.team_nominal(TeamName(name)) for name in names},
        )

    def _team(self, team: str | None) -> str | Refused | None:
        """The team as the policy spells it."""
        if team is None or team.lower() in self._terms.teams:
            return team if team is None else team.lower()
        return refuse(RefusalCode.UNKNOWN_TEAM, near(team, self._terms.teams), team=team)


def _pool(grant: Grant) -> str:
    return grant.pool


def _team(grant: Grant) -> str:
    return grant.team


def _owner(grant: Grant) -> str:
    return grant.owner


def _spend(grant: Grant) -> str:
    return grant.spend
