from .campaign import Campaign as Campaign
from .campaign import Health as Health
from .campaign import Request as Request
from .store import copy_campaign as copy_campaign
from .summary import Summary as Summary
from .summary import read_campaign as read_campaign
