from .campaign import Campaign as Campaign
from .campaign import Request as Request
from .replay import read_campaign as read_campaign
