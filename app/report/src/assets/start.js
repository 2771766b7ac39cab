
const data = JSON.parse($("#data").textContent);
all("[data-timeline]").forEach((root) => timeline(root, data.timelines[Number(root.dataset.timeline)]));
if (data.paging) paging(data.paging);
if (data.share) all("[data-share]").forEach((root) => sharing(root, data.share));
