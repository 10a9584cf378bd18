from cmab.campaigns.campaign import Campaign as Campaign
from cmab.campaigns.copying import copy_campaign as copy_campaign
from cmab.campaigns.log import Log as Log
from cmab.campaigns.log import LoggedRound as LoggedRound
from cmab.campaigns.reading import read_journal as read_journal
from cmab.campaigns.request import Request as Request
from cmab.campaigns.summary import Summary as Summary
from cmab.feedback import Ticket as Ticket
