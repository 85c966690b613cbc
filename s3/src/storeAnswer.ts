/** What the object store answered to a request that it refused. */
export class StoreAnswer extends Error {
  readonly status: number;
  /** S3's word for the reason; undefined where it gave none, as other servers do. */
  readonly code: string | undefined;

  constructor(status: number, code: string | undefined, message = "") {
    super(message);
    this.name = "StoreAnswer";
    this.status = status;
    this.code = code;
  }
}
