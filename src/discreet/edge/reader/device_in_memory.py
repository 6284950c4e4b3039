"""A whole device whose files are gone with it: for audits and simulations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.edge.reader.catalogue_file import CatalogueFile
from discreet.edge.reader.device import Device
from discreet.edge.reader.history import History
from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.edge.reader.reader_client import ReaderClient
from discreet.privacy.ledger import Ledger
from discreet.privacy.ledger.in_memory import LedgerInMemory

if TYPE_CHECKING:
    from discreet.edge.reader.sums import Contributor, Floors, Sender


class DeviceInMemory(Device):
    """A device without a disk."""

    def _open(self, folder: Path) -> tuple[History, Ledger, bool]:
        ledger = LedgerInMemory(self.terms.budget, self.terms.schedule, clock=self._clock)
        return History(":memory:"), ledger, False


class ReaderClientInMemory(ReaderClient):
    """A client of such a device."""

    def _open_catalogue(self) -> CatalogueFile:
        return CatalogueFile(":memory:")

    def _open_device(self, terms: PublisherTerms) -> Device:
        return DeviceInMemory(
            self._folder,
            terms,
            self._articles.catalogue,
            clock=self._clock,
            random_id=self._random_id,
            first_page=self._first_page,
        )

    def _keep_terms(self, text: str) -> None:
        pass

    def _open_contributor(self, sender: Sender, floors: Floors) -> Contributor:
        from discreet.edge.reader.sums.contributor import ContributorInMemory

        history = self.device.history
        return ContributorInMemory(
            self._folder, history.articles_clicked, sender, floors, views=history.views, clock=self._clock
        )
