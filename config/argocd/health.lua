-- The health of what is of fettle.dev, from its conditions, as kstatus reads them: what is
-- Current there is Healthy here, InProgress is Progressing, and Failed is Degraded. What waits for a
-- person, or for something else that opens a gate, is Suspended.

local function health(status, message)
  return {status = status, message = message or ""}
end

local metadata, status = obj.metadata or {}, obj.status or {}
local is, said, why = {}, {}, {}
for _, c in ipairs(status.conditions or {}) do
  is[c.type], said[c.type], why[c.type] = c.status == "True", c.message, c.reason
end

if metadata.deletionTimestamp ~= nil then
  return health("Progressing", "is being deleted")
end
if status.observedGeneration == nil or status.observedGeneration ~= metadata.generation then
  return health("Progressing", "nobody has looked at generation " .. (metadata.generation or "?") .. " yet")
end
if is.Reconciling and (why.Ready == "Paused" or why.Ready == "WaitingForGate") then
  return health("Suspended", said.Ready)
end
if is.Reconciling then
  return health("Progressing", said.Reconciling)
end
if is.Stalled then
  return health("Degraded", said.Stalled)
end
if is.Ready then
  return health("Healthy", said.Ready)
end
return health("Progressing", said.Ready)
