-- Ranges and marks, and which of them is open when a call is made.

-- The name that NVIDIA's reports print: the domain, which is empty for the default
-- one, a colon, and the text.
CREATE MACRO range_name(domain, text) AS
coalesce(domain, '') || ':' || coalesce(text, '');
