/** The API's calls about the service itself. All of them throw only ApiError. */
import { ServiceStatusResponse } from "#contracts/http/service.ts";
import { request } from "./request.ts";

/** Returns the status of the service; needs no sign-in. */
export function readServiceStatus(signal?: AbortSignal): Promise<ServiceStatusResponse> {
  return request(ServiceStatusResponse, "/api/status", { signal });
}
